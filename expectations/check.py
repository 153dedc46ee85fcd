"""`pts check`: are the tables, as sets, what they should be?"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from expectations import pages
from expectations.result import Checked, Result
from expectations.suites import SUITES
from expectations.truth import Suite, Truth, parameter
from expectations.validation import Measured, Verdicts, validated
from pipelines.commands import Check
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.spark.spark_job import spark_job
from pipelines.settings import Quality, Settings
from pipelines.state.snapshots import Snapshot, snapshot
from pipelines.tables import EXPECTED, OPS_BATCHES, OPS_QUALITY, Table
from pipelines.terminal.rendering import iso_utc

BEFORE_ALL = datetime(1000, 1, 1, tzinfo=UTC)
"""A moment before that of any row."""


def run(command: Check, settings: Settings) -> Checked:
    """Judges every expectation of the tables asked for, and adds the results to `ops.quality`.

    The tables are read at one batch at which all agree, so the live job may go on. What speaks of now is left out when
    a batch is named.

    Raises:
        NotFound: There is no such batch, no batch is complete yet, or its versions are gone.
        LakeUnavailable: The lake cannot be read, or the results cannot be written.
    """
    at = snapshot(settings.lake_root, command.at_batch)
    at.insist_on(EXPECTED)
    reader = LakeReader(settings.lake_root, at.versions, at.batch_id)
    for table in EXPECTED:
        reader.check_files(table.name)
    asked = [suite for suite in SUITES if not command.tables or suite.table.name in command.tables]
    suites = asked if command.at_batch is None else [_without_now(suite) for suite in asked]
    with spark_job(settings, "check") as spark:
        return check(spark, settings, at, suites, datetime.now(UTC))


def check(
    spark: SparkSession, settings: Settings, at: Snapshot, suites: Iterable[Suite], checked_at: datetime
) -> Checked:
    """The same in a session, at a snapshot and a moment."""
    lake = Lake(spark, settings.lake_root)
    measured = measure(lake, suites, at, checked_at)
    folder = pages.folder_of(settings.quality_pages, checked_at, at.batch_id)
    judged = [_known(each) for each in measured]
    verdicts = validated(spark, judged, settings.quality, at.batch_id, checked_at, folder)
    results = tuple(
        _result(each.suite, truth, each.facts, verdicts, settings.quality)
        for each in measured
        for truth in each.suite.truths
    )
    found = Checked(checked_at, at.batch_id, results, str(folder / "index.html"))
    _append(lake, found)
    pages.keep_newest(settings.quality_pages, settings.quality.kept_pages)
    return found


def measure(lake: Lake, suites: Iterable[Suite], at: Snapshot, now: datetime) -> list[Measured]:
    """The numbers of each suite, by one query for all of them, from the tables as they were after the batch."""
    # As text: Spark 4.2 leaves parameters unbound in a condition on columns that a join has merged.
    moments = {parameter(table): _literal(at.expired_before.get(table.name) or BEFORE_ALL) for table in EXPECTED}
    moments["now"] = _literal(now)

    def measured(suite: Suite) -> Measured:
        numbers = (f"({_named(truth.sql).format_map(moments)}) AS {truth.name}" for truth in suite.truths)
        return Measured(suite, lake.spark.sql(f"SELECT {', '.join(numbers)}").toArrow())

    with _views(lake, at):  # side by side they took longer, on two cores
        return [measured(suite) for suite in suites]


@contextmanager
def _views(lake: Lake, at: Snapshot) -> Iterator[None]:
    for table in EXPECTED:
        if table == OPS_BATCHES:
            rows = lake.read(table).where(F.col("batch_id") <= at.batch_id)
        else:
            rows = lake.read(table, at.versions[table.name])
        rows.createOrReplaceTempView(_view(table))
    try:
        yield
    finally:
        for table in EXPECTED:
            lake.spark.catalog.dropTempView(_view(table))


def _view(table: Table) -> str:
    return table.name.replace(".", "_")


def _named(sql: str) -> str:
    """With the names of views in place of those of tables: a temporary view is in no schema."""
    for table in EXPECTED:
        sql = sql.replace(table.name, _view(table))
    return sql


def _literal(moment: datetime) -> str:
    return f"TIMESTAMP '{iso_utc(moment)}'"


def _without_now(suite: Suite) -> Suite:
    return replace(suite, truths=tuple(truth for truth in suite.truths if not truth.is_of_now))


def _known(measured: Measured) -> Measured:
    """Without warnings that there is nothing yet to judge by."""
    truths = tuple(truth for truth in measured.suite.truths if not _is_unknown(truth, measured.facts))
    return Measured(replace(measured.suite, truths=truths), measured.facts)


def _is_unknown(truth: Truth, facts: pa.Table) -> bool:
    return truth.severity == "warning" and facts[truth.name][0].as_py() is None


def _result(suite: Suite, truth: Truth, facts: pa.Table, verdicts: Verdicts, quality: Quality) -> Result:
    least, most = truth.within(quality)
    outcome = "unknown" if _is_unknown(truth, facts) else verdicts[suite.table.name, truth.name]
    observed = facts[truth.name][0].as_py()
    return Result(
        table_name=suite.table.name,
        expectation=truth.name,
        severity=truth.severity,
        outcome=outcome,
        observed=None if observed is None or outcome == "error" else float(observed),
        at_least=least,
        at_most=most,
        remedy=truth.remedy,
    )


def _append(lake: Lake, found: Checked) -> None:
    """Adds the results to `ops.quality`, which the first check creates."""
    lake.ensure(OPS_QUALITY)
    rows = [
        {
            "checked_at": found.checked_at,
            "batch_id": found.batch_id,
            "page": found.page,
            **{name: getattr(result, name) for name in OPS_QUALITY.column_names if hasattr(result, name)},
        }
        for result in found.results
    ]
    lake.append_rows(_arrow(rows), OPS_QUALITY, Transaction(f"check-{found.checked_at.isoformat()}/quality", 0))


def _arrow(rows: Sequence[dict[str, object]]) -> pa.Table:
    """In the order of the columns."""
    columns = {name: [row[name] for row in rows] for name in OPS_QUALITY.column_names}
    return pa.table({**columns, "observed": pa.array(columns["observed"], pa.float64())})
