"""`pts quarantine redrive`: rejected records judged anew, by the rules of today. What is accepted enters all tables."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from pipelines.commands import QuarantineRedrive
from pipelines.contracts.epoch import EPOCH
from pipelines.contracts.rules import SCAN_IDENTITY
from pipelines.contracts.topics import INPUT_TOPICS, SHIP_EVENTS, SHIP_ROUTES
from pipelines.engine.runner import wire_formats
from pipelines.io.delta.lake import Lake
from pipelines.io.spark.spark_job import spark_job
from pipelines.live.resume import check_promotions
from pipelines.maintenance.backfill import REACH, chosen, made_anew, within
from pipelines.maintenance.common import settle
from pipelines.replay import base
from pipelines.replay.promote import Promoted, check_live_code, promoted
from pipelines.replay.swap import totals
from pipelines.settings import Settings
from pipelines.state.ledger import Counts, Ledger
from pipelines.state.replay_records import Replay, Replays
from pipelines.state.snapshots import Snapshot, snapshot
from pipelines.state.writer_lease import correcting
from pipelines.tables import (
    GOLD_REMAINING_STOPS,
    OPS_EXPIRED_REPORTS,
    OPS_REDRIVEN_RECORDS,
    SILVER_QUARANTINE,
    SILVER_SHIP_EVENTS,
    SILVER_SHIP_ROUTES,
    TABLES,
    Table,
)
from pipelines.tables.record import RECORD_KEY
from pipelines.transforms.expiry import is_expired
from pipelines.transforms.judge import judged
from pipelines.transforms.rejected import rejected_events, rejected_routes
from pipelines.transforms.remaining_stops import remaining_stops
from pipelines.transforms.route_versions import route_versions
from pipelines.transforms.windows import MICROSECOND, hour_of, hour_spans

REJECTED = {SHIP_EVENTS.name: rejected_events, SHIP_ROUTES.name: rejected_routes}


@dataclass(frozen=True)
class Redriven:
    """What became of the records; with `dry_run`, what would.

    Attributes:
        judged: Records that were judged anew, by topic.
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
    """Judges the records of the reasons anew and, if a verdict is another now, promotes tables that say so.

    The tables begin as those of the newest complete batch, follow the live job, and take the live ones' place while it
    waits between two batches, as in `pts replay promote`. Each accepted record is in them once, with its coordinates;
    where another record tells the same scan, the one with the lowest offset is kept, as in a replay. What the
    quarantine said before is in ops.redriven_records.

    Raises:
        NotFound: The lake has no complete batch yet.
        NotCompared: The live job runs other code, which would reject the next such record again.
        LakeMismatch: Another promotion was cut off.
        AnotherWriter: Another command works on a replay or corrects rows, or the live job does not lend the lake.
    """
    replays = Replays(settings.lake_root)
    with replays.one_at_a_time(), spark_job(settings, "redrive") as spark, ExitStack() as held:
        check_promotions(settings.lake_root)
        check_live_code(settings)
        if not command.dry_run:
            held.enter_context(correcting(settings.lake_root))
            settle(spark, settings)  # or the newest complete batch, with which it begins, is of what was replaced
        at, live = snapshot(settings.lake_root), Lake(spark, settings.lake_root)
        at.insist_on(TABLES)
        redrive = Redrive(spark, live, at, command.reasons, settings)
        held.callback(redrive.let_go)
        found = redrive.found()
        if command.dry_run or not (any(found.accepted.values()) or found.rejected):
            return found
        name = f"redrive-{at.batch_id}"
        replays.clear(name)  # one that was cut off before its promotion
        row = Ledger(spark, live).row(at.batch_id)
        assert row is not None
        replay = base.replay_from(row, at.versions, name, settings)
        lake = Lake(spark, replays.root(name))
        base.link(lake, live, replay)
        counts = redrive.apply(Lake(spark, lake.root), replay, totals(live.root, before=at.batch_id + 1))
        base.begin(lake, row, replay, counts, at.expired_before)
        replays.save(replay)
        return Redriven(found.judged, found.accepted, found.rejected, promoted(replay, replays, spark, settings))


class Redrive:
    """Rejected records with their old and their new verdict, and the tables that they change."""

    def __init__(
        self, spark: SparkSession, live: Lake, at: Snapshot, reasons: Sequence[str], settings: Settings
    ) -> None:
        self._spark = spark
        self._at = at
        rows = live.read_at(SILVER_QUARANTINE, at.versions[SILVER_QUARANTINE.name])
        old = rows.where(F.col("reason").isin(*reasons)).withColumnsRenamed(
            {"reason": "old_reason", "detail": "old_detail"}
        )
        formats = wire_formats(settings)
        self._judged = {
            topic.name: judged(old.where(F.col("kafka_topic") == topic.name), topic, formats[topic.name]).persist()
            for topic in INPUT_TOPICS
        }

    def let_go(self) -> None:
        """Frees what it holds."""
        for records in self._judged.values():
            records.unpersist()

    def found(self) -> Redriven:
        """What the verdicts are now."""
        verdicts = [
            row
            for records in self._judged.values()
            for row in records.groupBy("kafka_topic", "old_reason", "reason").count().collect()
        ]
        changed = [row for row in verdicts if row["reason"] not in (None, row["old_reason"])]
        return Redriven(
            judged=_sums((row["kafka_topic"], row["count"]) for row in verdicts),
            accepted=_sums((row["kafka_topic"], row["count"]) for row in verdicts if row["reason"] is None),
            rejected=_sums((row["reason"], row["count"]) for row in changed),
        )

    def apply(self, lake: Lake, replay: Replay, counts: Mapping[str, Counts]) -> dict[str, Counts]:
        """Writes what they change into a lake, whose append-only tables may be changed; its counts by topic then."""
        scans = _ranked(self._accepted(SHIP_EVENTS.name, SILVER_SHIP_EVENTS), lake.read(SILVER_SHIP_EVENTS))
        scans = scans.localCheckpoint()  # it must not be computed again from what is written now
        added, displaced = scans.where("is_new AND place = 1"), scans.where("NOT is_new AND place > 1")
        routes = route_versions(self._judged[SHIP_ROUTES.name])
        tables = (
            (SILVER_SHIP_EVENTS, displaced, added.select(*SILVER_SHIP_EVENTS.column_names)),
            (SILVER_SHIP_ROUTES, None, routes),
            (SILVER_QUARANTINE, self._changed(), self._rejected_otherwise()),
            (OPS_REDRIVEN_RECORDS, None, self._history(replay.created_at)),
        )
        for table, gone, new in tables:
            if gone is not None:
                out = base.base_transaction(replay, f"{table.name}/out")
                lake.take_out(gone.select(*table.key), table, out)
            lake.append(new, table, base.base_transaction(replay, f"{table.name}/in"))
        self._report_anew(lake, replay, scans.where("is_new OR place > 1").select("tracking_number"), routes)
        self._count_anew(lake, replay, scans.where("is_new OR place > 1"))
        gained = {SHIP_EVENTS.name: added.count() - displaced.count(), SHIP_ROUTES.name: routes.count()}
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

    def _accepted(self, topic: str, silver: Table) -> DataFrame:
        return self._judged[topic].where("reason IS NULL").select(*silver.column_names)

    def _changed(self) -> DataFrame:
        columns = (*RECORD_KEY, "kafka_timestamp", "old_reason", "old_detail", "reason")
        records = reduce(DataFrame.unionByName, (each.select(*columns) for each in self._judged.values()))
        return records.where("NOT (reason <=> old_reason)")

    def _rejected_otherwise(self) -> DataFrame:
        frames = (REJECTED[topic](records.where("reason != old_reason")) for topic, records in self._judged.items())
        return reduce(DataFrame.unionByName, frames)

    def _history(self, redriven_at: datetime) -> DataFrame:
        named = {"redriven_at": F.lit(redriven_at), "new_reason": F.col("reason"), "reason": F.col("old_reason")}
        rows = self._changed().withColumns(named).withColumnRenamed("old_detail", "detail")
        return rows.select(*OPS_REDRIVEN_RECORDS.column_names)

    def _report_anew(self, lake: Lake, replay: Replay, of_scans: DataFrame, routes: DataFrame) -> None:
        """The reports of all packages of which a scan or a route is new or another, from all that silver knows."""
        packages = F.broadcast(of_scans.unionByName(routes.select("tracking_number")).distinct())
        told_scans, told_routes = (lake.read(table).join(packages, "tracking_number", "left_semi") for table in SILVER)
        reports = remaining_stops(told_scans, told_routes, lake.read(GOLD_REMAINING_STOPS).where(F.lit(False)))
        limit, expiry = self._at.expired_before[GOLD_REMAINING_STOPS.name], GOLD_REMAINING_STOPS.expiry
        if limit and expiry:  # a package is in one of the two tables, and may change from one to the other
            for table in (GOLD_REMAINING_STOPS, OPS_EXPIRED_REPORTS):
                lake.take_out(packages, table, base.base_transaction(replay, f"{table.name}/out"))
            gone, reports = reports.where(is_expired(expiry, limit)), reports.where(~is_expired(expiry, limit))
            lake.merge(gone, OPS_EXPIRED_REPORTS, base.base_transaction(replay, f"{OPS_EXPIRED_REPORTS.name}/in"))
        lake.merge(reports, GOLD_REMAINING_STOPS, base.base_transaction(replay, f"{GOLD_REMAINING_STOPS.name}/in"))

    def _count_anew(self, lake: Lake, replay: Replay, scans: DataFrame) -> None:
        """All windows and alerts to which one of the scans belongs."""
        hours = {row["hour"] for row in scans.select(hour_of(F.col("occurred_at")).alias("hour")).distinct().collect()}
        edges = [tuple(EPOCH + edge * MICROSECOND for edge in span) for span in hour_spans(hours)]
        spans = [(begin - REACH, end + REACH) for begin, end in edges]
        if not spans:
            return
        with made_anew(chosen(()), spans, lake.read, self._at.expired_before) as tables:
            for table in tables:
                into = table.flow.into
                transaction = base.base_transaction(replay, f"{into.name}/in")
                lake.replace_where(table.rows, within(into, spans), into, transaction)


SILVER = SILVER_SHIP_EVENTS, SILVER_SHIP_ROUTES


def _ranked(new: DataFrame, known: DataFrame) -> DataFrame:
    """New scans and those that are known by the same identity, with `place`: 1 is the lowest offset of each."""
    identities = new.select(*(F.col(name).alias(f"new_{name}") for name in SCAN_IDENTITY)).distinct()
    is_same = reduce(lambda both, name: both & F.col(name).eqNullSafe(F.col(f"new_{name}")), SCAN_IDENTITY, F.lit(True))
    same = known.join(F.broadcast(identities), is_same, "left_semi")
    both = new.withColumn("is_new", F.lit(True)).unionByName(same.withColumn("is_new", F.lit(False)))
    order = Window.partitionBy(*SCAN_IDENTITY).orderBy("kafka_partition", "kafka_offset")
    return both.withColumn("place", F.row_number().over(order))


def _sums(counts: Any) -> dict[str, int]:
    sums: dict[str, int] = {}
    for name, count in counts:
        sums[name] = sums.get(name, 0) + count
    return sums
