"""Views that show what is sealed as who asks may see it: two functions in Python, and the queries that call them."""

from collections.abc import Collection

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import ARROW

from pipelines.contracts.envelope import ENVELOPE, MARK, OF_A_PACKAGE, SEALED
from pipelines.io.keys.clearance import Clearance
from pipelines.settings.seal import CARRIER, SEALABLE

TEXTS = pa.struct([(name, pa.string()) for name in SEALABLE])
OF_RECORDS = {
    "value": "unsealed_value(value, kafka_topic)",
    "detail": f"regexp_replace(detail, '{ENVELOPE.pattern.decode()}', '{SEALED}', 'g')",
}
"""By column of bronze and quarantine, what is shown of it."""


def add_functions(connection: duckdb.DuckDBPyConnection, clearance: Clearance) -> None:
    """Adds `unsealed_texts` and `unsealed_value`, by which `shown` shows what the clearance does."""

    def texts(envelopes: pa.Array, numbers: pa.Array) -> pa.Array:
        return pa.array(clearance.texts(envelopes.to_pylist(), numbers.to_pylist()), TEXTS)

    def value(values: pa.Array, topics: pa.Array) -> pa.Array:
        if not pc.any(pc.match_substring(values, MARK)).as_py():
            return values
        pairs = zip(values.to_pylist(), topics.to_pylist(), strict=True)
        return pa.array([clearance.value(value, topic) for value, topic in pairs], pa.binary())

    columns = ", ".join(f"{name} VARCHAR" for name in SEALABLE)
    connection.create_function("unsealed_texts", texts, ["VARCHAR", "BIGINT"], f"STRUCT({columns})", type=ARROW)
    connection.create_function("unsealed_value", value, ["BLOB", "VARCHAR"], "BLOB", type=ARROW)


def as_stored(query: str, _columns: Collection[str]) -> str:
    """The query as it is."""
    return query


def shown(query: str, columns: Collection[str]) -> str:
    """The query for what is shown of the rows, with these columns, that a query gives."""
    if {CARRIER, "tracking_number"} <= set(columns):
        is_sealed = f"starts_with({CARRIER}, '{OF_A_PACKAGE}')"
        envelopes = f"CASE WHEN {is_sealed} THEN unsealed_texts({CARRIER}, tracking_number) END"
        others = (
            f"coalesce({each}, _opened.{each}) AS {each}" for each in SEALABLE if each != CARRIER and each in columns
        )
        carrier = f"CASE WHEN _opened IS NULL THEN {CARRIER} ELSE _opened.{CARRIER} END AS {CARRIER}"
        opened = f"SELECT *, {envelopes} AS _opened FROM ({query})"
        return f"SELECT * EXCLUDE (_opened) REPLACE ({', '.join((carrier, *others))}) FROM ({opened})"
    replaced = ", ".join(f"{by} AS {name}" for name, by in OF_RECORDS.items() if {name, "kafka_topic"} <= set(columns))
    return f"SELECT * REPLACE ({replaced}) FROM ({query})" if replaced else query


def masked_answer(answer: pa.Table) -> pa.Table:
    """An answer of an engine that opens nothing: its texts and bytes with a mask in place of each envelope."""
    columns = [
        pc.replace_substring_regex(column, ENVELOPE.pattern.decode(), SEALED)
        if pa.types.is_string(column.type) or pa.types.is_binary(column.type)
        else column
        for column in answer.columns
    ]
    return pa.table(columns, names=answer.column_names)
