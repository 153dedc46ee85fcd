"""What `pts verify`, `check`, `health` and `judge` found."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pipelines.contracts.examples import ACCEPTED
from pipelines.terminal.page import Page, table

if TYPE_CHECKING:
    from expectations.result import Checked
    from pipelines.checks.health import Reading
    from pipelines.checks.judge import JudgedMessage, Summary
    from pipelines.checks.verify import Verified


def verified_page(verified: "Verified") -> Iterator[str]:
    """One line per topic, then the verdict."""
    for total in verified.topics:
        batches = "batch" if total.batch_count == 1 else "batches"
        gaps = f"; offsets without a committed record: {total.gap_count:,}" if total.gap_count else ""
        yield (
            f"{total.kafka_topic}: {total.read_count:,} read = {total.accepted_count:,} accepted + "
            f"{total.duplicate_count:,} duplicates + {total.quarantined_count:,} quarantined, in "
            f"{total.batch_count:,} {batches} up to batch {verified.batch_id}{gaps}"
        )
    if verified.correction_count:
        yield (
            f"Duplicates that say something else than the scan that counts: {verified.correction_count:,} (`pts report "
            "--explain` shows those of a package)"
        )
    where = f"the tables at batch {verified.batch_id}, the ledger up to batch {verified.ledger_batch_id}"
    yield f"All {len(verified.checks)} checks held: {where}."


def checked_page(checked: "Checked") -> Page:
    """A line per expectation, the warnings, then the verdict and the page that shows more."""
    rows = (
        (
            result.table_name,
            result.expectation,
            result.severity,
            result.outcome,
            "" if result.observed is None else f"{result.observed:,.6g}",
            f"{result.at_least:,.6g} to {result.at_most:,.6g}",
        )
        for result in checked.results
    )
    yield table("table", "expectation", "severity", "outcome", "observed", "expected", rows=rows)
    for result in checked.warnings:
        yield f"Warning: {result.sentence}."
    yield f"At batch {checked.batch_id}: {checked.outcome}. {checked.page}"


def readings_page(readings: Iterable["Reading"]) -> Page:
    """A line per reading."""
    rows = (
        (
            f"{reading.name} ({reading.subject})" if reading.subject else reading.name,
            "unknown" if reading.value is None else f"{reading.value:,.3g}",
            f"{reading.limit:,g}",
            "" if reading.is_met else "beyond its limit",
        )
        for reading in readings
    )
    yield table("reading", "value", "limit", "", rows=rows)


def judged_line(judged: "JudgedMessage") -> str:
    """The message's number, its verdict, and what is wrong with it."""
    return f"{judged.message:,}  {judged.verdict}  {judged.detail or ''}".rstrip()


def summary_page(summary: "Summary") -> Iterator[str]:
    """How many messages there were of each verdict, and what was not judged."""
    reasons = "".join(f", {name} {count:,}" for name, count in summary.quarantined.items())
    yield f"Messages {summary.verdicts.total():,}: accepted {summary.verdicts[ACCEPTED]:,}{reasons}."
    left_out = [f"the key of {summary.without_key:,}"] * bool(summary.without_key)
    left_out += [f"the timestamp of {summary.without_timestamp:,}"] * bool(summary.without_timestamp)
    yield f"Not judged: {', '.join([*left_out, 'whether a message repeats another'])}."
