"""The page *quarantine*: which rules records broke, when, examples of them byte for byte, and what to do."""

from dataclasses import dataclass
from typing import Any

from pipelines.board.now import Chart
from pipelines.board.view import View
from pipelines.contracts.envelope import masked_bytes
from pipelines.contracts.rules import Reason
from pipelines.queries.quarantine import LISTED, SHOWN
from pipelines.tables import SILVER_QUARANTINE
from pipelines.values import rows_of

READ = (SILVER_QUARANTINE.name,)
EXAMPLES = 10
MOST_BYTES = 512
STEPS = 120
OVER_TIME = f"""
    WITH span AS (
        SELECT min(kafka_timestamp) AS first, epoch(max(kafka_timestamp) - min(kafka_timestamp)) / {STEPS} AS step
        FROM {SILVER_QUARANTINE.name} WHERE reason = $1
    )
    SELECT epoch(first) + floor(epoch(kafka_timestamp - first) / greatest(step, 1)) * greatest(step, 1) AS step_at,
        count(*) AS record_count
    FROM {SILVER_QUARANTINE.name}, span WHERE reason = $1 GROUP BY ALL ORDER BY step_at
"""


@dataclass(frozen=True)
class Example:
    """A rejected record; `key` and `value` as bytes, the value up to its first `MOST_BYTES`, with a mask in
    place of what is sealed."""

    row: dict[str, Any]
    key: str
    value: str
    left_out_count: int


@dataclass(frozen=True)
class Quarantine:
    """What the page shows: reasons by topic, and of one of them the time and examples."""

    reasons: list[dict[str, Any]]
    chosen: str | None
    chart: Chart | None
    examples: list[Example]


def quarantine_page(view: View, reason: Reason | None) -> Quarantine:
    """All reasons; details of the chosen one, or of the most frequent."""
    reasons = rows_of(view.reader.query(LISTED))
    chosen = reason.value if reason else reasons[0]["reason"] if reasons else None
    if chosen is None:
        return Quarantine(reasons, None, None, [])
    steps = view.rows(OVER_TIME, chosen)
    chart = Chart(
        f"Records with {chosen}",
        "records",
        tuple(s["step_at"] for s in steps),
        tuple(float(s["record_count"]) for s in steps),
    )
    return Quarantine(reasons, chosen, chart, [_example(row) for row in view.rows(SHOWN, chosen, EXAMPLES)])


def _example(row: dict[str, Any]) -> Example:
    value = row["value"] and masked_bytes(row["value"])
    left_out = max(0, len(value or b"") - MOST_BYTES)
    return Example(row, bytes_text(row["key"]), bytes_text(value and value[:MOST_BYTES]), left_out)


def bytes_text(value: bytes | None) -> str:
    """Bytes as Python writes them, which says each one; `null` for none."""
    return "null" if value is None else repr(value)[1:]
