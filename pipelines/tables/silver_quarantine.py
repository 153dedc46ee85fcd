"""`silver.quarantine`: what the rules rejected."""

from collections.abc import Iterable

from pipelines.contracts.rules import Reason
from pipelines.tables.record import HEADERS_TYPE, RECORD_KEY, RECORD_STATISTICS, Column, Table, kafka_coordinates


def _is_one_of(reasons: Iterable[Reason]) -> str:
    return f"reason IN ({', '.join(repr(reason.value) for reason in reasons)})"


SILVER_QUARANTINE = Table(
    name="silver.quarantine",
    doc="Records that broke a rule, byte for byte, with the first rule that they broke.",
    grain="one row per rejected record",
    key=RECORD_KEY,
    statistics=("reason", "kafka_topic", *RECORD_STATISTICS),
    constraints={"reason_is_known": _is_one_of(Reason)},
    earlier_constraints={
        "reason_is_known": (_is_one_of(reason for reason in Reason if reason != Reason.BAD_TIMESTAMP),)
    },
    is_append_only=True,
    columns=(
        Column("reason", "STRING", f"The first that held of: {', '.join(Reason)}.", is_required=True),
        Column("detail", "STRING", "What exactly was wrong, for a person."),
        Column("key", "BINARY", "Key of the record, byte for byte."),
        Column("value", "BINARY", "Value of the record, byte for byte."),
        Column("headers", HEADERS_TYPE, "Headers of the record in their order; null when it has none."),
        *kafka_coordinates(),
    ),
)
