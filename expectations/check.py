"""`pts check`: are the tables, as sets, what they should be?"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import duckdb
import pyarrow as pa

from expectations import pages
from expectations.result import Checked, Result
from expectations.suites import SUITES
from expectations.truth import Suite, Truth
from expectations.validation import Measured, Verdicts, validated
from pipelines import commands
from pipelines.checks.verify_checks import STAGES, Check
from pipelines.checks.verify_checks.ledger import LEDGER
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.duckdb.reader import LakeReader
from pipelines.progress import part
from pipelines.settings import Quality, Settings
from pipelines.state.snapshots import Snapshot, snapshot
from pipelines.tables import EXPECTED, OPS_QUALITY
from pipelines.values import iso_utc, rows_of


def run(command: commands.Check, settings: Settings) -> Checked:
    """Judges every expectation of the tables asked for, and adds the results to `ops.quality`.

    The tables are read at one batch at which all agree, so the live job may go on. What speaks of now is left out when
    a batch is named.

    Raises:
        NotFound: There is no such batch, no batch is consistent yet, or its versions are gone.
        LakeUnavailable: The lake cannot be read, or the results cannot be written.
    """
    at = snapshot(settings.lake_root, command.at_batch)
    at.raise_if_missing(EXPECTED)
    reader = LakeReader(settings.lake_root, at.versions, at.batch_id)
    for table in EXPECTED:
        reader.check_files(table.name)
    asked = [suite for suite in SUITES if not command.tables or suite.table.name in command.tables]
    suites = asked if command.at_batch is None else [_without_now(suite) for suite in asked]
    return check(settings, at, suites, datetime.now(UTC))


def check(settings: Settings, at: Snapshot, suites: Iterable[Suite], checked_at: datetime) -> Checked:
    """Judges the suites at a snapshot and a moment, notes the results, and writes their page."""
    measured = measure(settings.lake_root, suites, at, checked_at)
    folder = pages.folder_of(settings.quality_pages, checked_at, at.batch_id)
    judged = [_known(each) for each in measured]
    with part("Judging, and writing pages"):
        verdicts = validated(judged, settings.quality, at.batch_id, checked_at, folder)
    results = tuple(
        _result(each, truth, verdicts, settings.quality) for each in measured for truth in each.suite.truths
    )
    found = Checked(checked_at, at.batch_id, results, str(folder / "index.html"))
    _append(Lake(None, settings.lake_root), found)
    pages.keep_newest(settings.quality_pages, settings.quality.kept_pages)
    return found


def measure(lake_root: str, suites: Iterable[Suite], at: Snapshot, now: datetime) -> list[Measured]:
    """The numbers of each suite, by one query for all of them, from the tables as they were after the batch."""
    asked = list(suites)
    needed = {LEDGER, *(truth.stage for suite in asked for truth in suite.truths)}
    reader = LakeReader(lake_root, at.versions, at.batch_id)
    with reader.opened(table.name for table in EXPECTED) as lake:
        lake.execute(f"SET VARIABLE batch_id = {at.batch_id}")
        lake.execute(f"SET VARIABLE now = TIMESTAMPTZ '{iso_utc(now)}'")
        with part("Reading what is judged"):
            for stage in STAGES:
                for statement in stage.prepare * (stage in needed):
                    lake.execute(statement)
        return [_measured(lake, suite) for suite in asked]


def _measured(lake: duckdb.DuckDBPyConnection, suite: Suite) -> Measured:
    numbers = ", ".join(f"({truth.sql}) AS {truth.name}" for truth in suite.truths)
    with part(f"Measuring {suite.table.name}"):
        facts = lake.sql(f"SELECT {numbers}").to_arrow_table()
    violated = (truth for truth in suite.truths if truth.check and facts[truth.name][0].as_py())
    return Measured(suite, facts, {truth.name: _first(lake, truth.check) for truth in violated if truth.check})


def _first(lake: duckdb.DuckDBPyConnection, check: Check) -> str:
    """A check's first violation in a sentence."""
    (row,) = rows_of(lake.sql(f"{check.sql} LIMIT 1").to_arrow_table())
    return check.wrong(row)


def _without_now(suite: Suite) -> Suite:
    return replace(suite, truths=tuple(truth for truth in suite.truths if not truth.is_of_now))


def _known(measured: Measured) -> Measured:
    """Without warnings that there is nothing yet to judge by."""
    truths = tuple(truth for truth in measured.suite.truths if not _is_unknown(truth, measured.facts))
    return replace(measured, suite=replace(measured.suite, truths=truths))


def _is_unknown(truth: Truth, facts: pa.Table) -> bool:
    return truth.severity == "warning" and facts[truth.name][0].as_py() is None


def _result(measured: Measured, truth: Truth, verdicts: Verdicts, quality: Quality) -> Result:
    table, facts = measured.suite.table.name, measured.facts
    least, most = truth.within(quality)
    outcome = "unknown" if _is_unknown(truth, facts) else verdicts[table, truth.name]
    observed = facts[truth.name][0].as_py()
    return Result(
        table_name=table,
        expectation=truth.name,
        severity=truth.severity,
        outcome=outcome,
        observed=None if observed is None or outcome == "error" else float(observed),
        at_least=least,
        at_most=most,
        remedy=truth.remedy,
        example=measured.examples.get(truth.name),
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
    mark = Transaction(f"check-{found.checked_at.isoformat()}/quality", 0, found.batch_id)
    lake.append_rows(_arrow(rows), OPS_QUALITY, mark)


def _arrow(rows: Sequence[dict[str, object]]) -> pa.Table:
    """The rows as Arrow, in the order of the table's columns."""
    columns = {name: [row[name] for row in rows] for name in OPS_QUALITY.column_names}
    return pa.table({**columns, "observed": pa.array(columns["observed"], pa.float64())})
