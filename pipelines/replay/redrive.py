"""`pts quarantine redrive`: rejected records judged again by the rules of today. What is accepted enters all tables."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from pipelines.commands import QuarantineRedrive
from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS, SHIP_ROUTES, Topic
from pipelines.graph import ACCEPTED
from pipelines.io.delta import duck
from pipelines.io.delta.data_files import empty_rows
from pipelines.io.delta.lake import Lake
from pipelines.io.spark.spark_job import spark_job
from pipelines.live.resume import check_promotions
from pipelines.maintenance.backfill import LOOKBACK, chosen, recomputed, within
from pipelines.maintenance.common import settle
from pipelines.progress import part
from pipelines.replay import base
from pipelines.replay.promote import check_live_code, promoted
from pipelines.replay.swap import totals
from pipelines.settings import Settings
from pipelines.state.exclusion import correcting
from pipelines.state.lake_choices import check_choices, wires
from pipelines.state.ledger import Counts, Ledger
from pipelines.state.replay_records import Promoted, Replay, Replays
from pipelines.state.snapshots import Snapshot, snapshot
from pipelines.tables import (
    GOLD_REMAINING_STOPS,
    OPS_EXPIRED_REPORTS,
    OPS_REDRIVEN_RECORDS,
    SILVER_QUARANTINE,
    SILVER_SHIP_EVENTS,
    SILVER_SHIP_ROUTES,
    TABLES,
)
from pipelines.tables.record import RECORD_KEY
from pipelines.transforms.expiry import is_expired, moment
from pipelines.transforms.judge import judged
from pipelines.transforms.remaining_stops import REMAINING_STOPS
from pipelines.transforms.windows import MICROSECOND, hours_with_scans


@dataclass(frozen=True)
class Redriven:
    """What became of the records; with `dry_run`, what would.

    Attributes:
        judged: Records that were judged again, by topic.
        accepted: Of these, how many are accepted now, by topic; some may tell a scan that another record tells, too.
        rejected: How many are rejected now for another reason, by that reason.
        promoted: How the tables took their place; None when nothing changed.
    """

    judged: Mapping[str, int]
    accepted: Mapping[str, int]
    rejected: Mapping[str, int]
    promoted: Promoted | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def run(command: QuarantineRedrive, settings: Settings) -> Redriven:
    """Judges the records of the reasons again and, if a verdict is another now, promotes tables that say so.

    The tables begin as those of the newest consistent batch, follow the live job, and take the live ones' place while
    it waits between two batches, as in `pts replay promote`. Each accepted record is in them once, with its
    coordinates; where another record tells the same scan, the one with the lowest offset is kept, as in a replay. What
    the quarantine said before is in ops.redriven_records.

    Raises:
        NotFound: The lake has no consistent batch yet.
        NotCompared: The live job runs other code, which would reject the next such record again.
        LakeMismatch: Another promotion was cut off, or the lake was made with other settings.
        AnotherWriter: Another command works on a replay or corrects rows, or the live job does not hand over the lease.
    """
    replays = Replays(settings.lake_root)
    with replays.one_at_a_time(), spark_job(settings, "redrive") as spark, ExitStack() as held:
        check_promotions(settings.lake_root)
        check_live_code(settings)
        check_choices(settings.lake_root, settings, is_new=False)
        if not command.dry_run:
            held.enter_context(correcting(settings.lake_root))
            settle(spark, settings)  # or the newest consistent batch, with which it begins, is of what was replaced
        at, live = snapshot(settings.lake_root), Lake(spark, settings.lake_root)
        at.raise_if_missing(TABLES)
        redrive = Redrive(spark, live, at, command.reasons, settings)
        held.callback(redrive.close)
        with part("Judging rejected records again"):
            found = redrive.found()
        if command.dry_run or not (any(found.accepted.values()) or found.rejected):
            return found
        name = f"redrive-{at.batch_id}"
        replays.clear(name)  # one that was cut off before its promotion
        row = Ledger(live).row(at.batch_id)
        assert row is not None
        replay = base.replay_from(row, at.versions, name, settings)
        lake = Lake(spark, replays.root(name))
        base.link(lake, live, replay)
        with part("Correcting the tables"):
            counts = redrive.apply(Lake(spark, lake.root), replay, totals(live.root, before=at.batch_id + 1))
        base.begin(lake, row, replay, counts, at.expired_before)
        replays.save(replay)
        return Redriven(found.judged, found.accepted, found.rejected, promoted(replay, replays, spark, settings))


class Redrive:
    """Rejected records with their old and their new verdict, and the tables that they change."""

    def __init__(
        self, spark: SparkSession, live: Lake, at: Snapshot, reasons: Sequence[str], settings: Settings
    ) -> None:
        self._at = at
        rows = live.read(SILVER_QUARANTINE, at.versions[SILVER_QUARANTINE.name])
        old = rows.where(F.col("reason").isin(*reasons)).withColumnsRenamed(
            {"reason": "old_reason", "detail": "old_detail"}
        )
        self._cursor = duck.cursor()
        for topic, silver in zip(INPUT_TOPICS, ACCEPTED, strict=True):
            wire = wires(settings)[topic.name]
            records = judged(old.where(F.col("kafka_topic") == topic.name), topic, wire)
            columns = dict.fromkeys(("old_reason", "old_detail", *SILVER_QUARANTINE.column_names, *silver.column_names))
            found = records.select(*columns).toArrow()
            self._cursor.register("found", found)
            self._cursor.execute(f"CREATE TEMP TABLE {_judged(topic)} AS FROM found")

    def close(self) -> None:
        """Frees what it holds."""
        self._cursor.close()

    def found(self) -> Redriven:
        """What the verdicts are now."""
        query = " UNION ALL ".join(
            f"SELECT kafka_topic, old_reason, reason, count(*) FROM {_judged(topic)} GROUP BY ALL"
            for topic in INPUT_TOPICS
        )
        verdicts = self._cursor.execute(query).fetchall()
        return Redriven(
            judged=_sums((topic, count) for topic, _, _, count in verdicts),
            accepted=_sums((topic, count) for topic, _, reason, count in verdicts if reason is None),
            rejected=_sums((reason, count) for _, old, reason, count in verdicts if reason not in (None, old)),
        )

    def apply(self, lake: Lake, replay: Replay, counts: Mapping[str, Counts]) -> dict[str, Counts]:
        """Writes what they change into a lake, whose append-only tables may be changed; its counts by topic then."""
        cursor = self._cursor
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE ranked AS {_ranked(lake)}")
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE touched AS SELECT * FROM ranked WHERE {IS_TOUCHED}")
        scans, keys = (", ".join(names) for names in (SILVER_SHIP_EVENTS.column_names, SILVER_SHIP_EVENTS.key))
        tables = (
            (
                SILVER_SHIP_EVENTS,
                f"SELECT {keys} FROM ranked WHERE {IS_DISPLACED}",
                f"SELECT {scans} FROM ranked WHERE {IS_ADDED}",
            ),
            (SILVER_SHIP_ROUTES, None, self._routes()),
            (SILVER_QUARANTINE, f"SELECT {', '.join(RECORD_KEY)} FROM ({self._changed()})", self._rejected_otherwise()),
            (OPS_REDRIVEN_RECORDS, None, self._history(replay.created_at)),
        )
        for table, gone, new in tables:
            if gone is not None:
                lake.take_out(cursor, gone, table, base.base_transaction(replay, f"{table.name}/out"))
            lake.append(cursor, new, table, base.base_transaction(replay, f"{table.name}/in"))
        self._recompute_reports(lake, replay)
        self._recompute_windows(lake, replay)
        counted = (f"(SELECT count(*) FROM {rows})" for rows in (
            f"ranked WHERE {IS_ADDED}", f"ranked WHERE {IS_DISPLACED}", f"({self._routes()})"
        ))  # fmt: skip
        ((added, displaced, routes),) = cursor.execute(f"SELECT {', '.join(counted)}").fetchall()
        gained = {SHIP_EVENTS.name: added - displaced, SHIP_ROUTES.name: routes}
        found = self.found()
        return {
            topic: Counts(
                read=before.read,
                accepted=before.accepted + gained[topic],
                duplicate=before.duplicate + found.accepted.get(topic, 0) - gained[topic],
                quarantined=before.quarantined - found.accepted.get(topic, 0),
            )
            for topic, before in counts.items()
        }

    def _routes(self) -> str:
        return f"SELECT {', '.join(SILVER_SHIP_ROUTES.column_names)} FROM {_judged(SHIP_ROUTES)} WHERE reason IS NULL"

    def _changed(self) -> str:
        columns = ", ".join((*RECORD_KEY, "kafka_timestamp", "old_reason", "old_detail", "reason"))
        return " UNION ALL ".join(
            f"SELECT {columns} FROM {_judged(topic)} WHERE reason IS DISTINCT FROM old_reason" for topic in INPUT_TOPICS
        )

    def _rejected_otherwise(self) -> str:
        columns = ", ".join(SILVER_QUARANTINE.column_names)
        return " UNION ALL ".join(
            f"SELECT {columns} FROM {_judged(topic)} WHERE reason != old_reason" for topic in INPUT_TOPICS
        )

    def _history(self, redriven_at: datetime) -> str:
        return (
            f"SELECT *, {moment(redriven_at)} AS redriven_at FROM (SELECT * EXCLUDE (reason, old_reason, old_detail), "
            f"old_reason AS reason, old_detail AS detail, reason AS new_reason FROM ({self._changed()}))"
        )

    def _recompute_reports(self, lake: Lake, replay: Replay) -> None:
        """The reports of all packages of which a scan or a route is new or another, from all that silver knows."""
        cursor = self._cursor
        cursor.execute(
            "CREATE OR REPLACE TEMP TABLE packages AS SELECT tracking_number FROM touched "
            f"UNION SELECT tracking_number FROM ({self._routes()})"
        )
        for name, table in zip(("new_scans", "new_routes"), ACCEPTED, strict=True):
            rows = f"SELECT * FROM ({lake.rows(table)}) SEMI JOIN packages USING (tracking_number)"
            cursor.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {rows}")
        cursor.execute(f"CREATE OR REPLACE TEMP VIEW current AS {empty_rows(GOLD_REMAINING_STOPS)}")
        cursor.execute(f"CREATE OR REPLACE TEMP TABLE reported AS {REMAINING_STOPS}")
        limit, expiry = self._at.expired_before[GOLD_REMAINING_STOPS.name], GOLD_REMAINING_STOPS.expiry
        gone = is_expired(expiry, limit)
        if limit:  # a package is in one of the two tables, and may change from one to the other
            for table in (GOLD_REMAINING_STOPS, OPS_EXPIRED_REPORTS):
                lake.take_out(cursor, "FROM packages", table, base.base_transaction(replay, f"{table.name}/out"))
        for table, rows in (
            (OPS_EXPIRED_REPORTS, f"FROM reported WHERE {gone}"),
            (GOLD_REMAINING_STOPS, f"FROM reported WHERE NOT {gone}"),
        ):
            lake.merge(cursor, rows, table, base.base_transaction(replay, f"{table.name}/in"))

    def _recompute_windows(self, lake: Lake, replay: Replay) -> None:
        """All windows and alerts to which one of the scans belongs."""
        hours = hours_with_scans(self._cursor, "FROM touched")
        edges = [tuple(EPOCH + edge * MICROSECOND for edge in span) for span in hours]
        spans = [(begin - LOOKBACK, end + LOOKBACK) for begin, end in edges]
        if not spans:
            return
        for table in recomputed(self._cursor, chosen(()), spans, lake.rows, self._at.expired_before):
            into = table.flow.into
            transaction = base.base_transaction(replay, f"{into.name}/in")
            lake.replace_where(self._cursor, table.rows, within(into, spans), into, transaction)


IS_ADDED, IS_DISPLACED, IS_TOUCHED = "is_new AND place = 1", "NOT is_new AND place > 1", "is_new OR place > 1"


def _judged(topic: Topic) -> str:
    """Names the records of a topic, with their old and their new verdict."""
    return f"judged_{topic.table_name}"


def _ranked(lake: Lake) -> str:
    """New scans and those that are known by the same identity, with `place`: 1 is the lowest offset of each."""
    names, identity = ", ".join(SILVER_SHIP_EVENTS.column_names), ", ".join(SCAN_IDENTITY)
    same = " AND ".join(f"known.{name} IS NOT DISTINCT FROM new.{name}" for name in SCAN_IDENTITY)
    return f"""
        WITH new AS (SELECT {names}, true AS is_new FROM {_judged(SHIP_EVENTS)} WHERE reason IS NULL),
        known AS (
            SELECT {names}, false AS is_new FROM ({lake.rows(SILVER_SHIP_EVENTS)}) AS known SEMI JOIN new ON {same}
        )
        SELECT *, row_number() OVER (PARTITION BY {identity} ORDER BY kafka_partition, kafka_offset) AS place
        FROM (FROM new UNION ALL FROM known)
    """


def _sums(counts: Any) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, count in counts:
        sums[name] = sums.get(name, 0) + count
    return sums
