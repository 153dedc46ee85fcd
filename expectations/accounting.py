"""Do the silver tables hold as many rows as the ledger counts? Promotions correct earlier batches: only sums hold."""

from typing import Literal

from expectations.truth import Truth
from pipelines.tables import Table


def rows_are_those_counted(table: Table, count: Literal["accepted_count", "quarantined_count"], topics: str) -> Truth:
    """`topics` is a condition (SQL) on `kafka_topic`."""
    return Truth(
        name="rows_are_those_counted",
        meaning=f"The table has as many rows as the ledger counts: by how many the two differ ({count}).",
        sql=f"""
            SELECT abs((SELECT count(*) FROM {table.name}) - coalesce(sum({count}), 0))::BIGINT
            FROM batch_count WHERE {topics}
        """,
        catches="rows that were lost or doubled after the batch that wrote them.",
        remedy="`pts verify` names batch and record; see the runbook there. Do not mend single rows.",
    )
