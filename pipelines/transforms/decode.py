"""What do the bytes of a value say? Both wire formats end in one shape: text by field, and what is wrong with it.

What is added to the records:
  `syntax`    a `Reason` (`empty`, `not_utf8`, `malformed`), or null when the value could be taken apart;
  `wire`      struct of strings, one per column of the topic's fields; null where the field is missing;
  `mistyped`  name of the first field that has the wrong JSON type; null for CSV;
  `expected`  what the value should have been, for a person.
"""

from functools import reduce

from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.contracts.grammar import CSV_FIELD, JSON_STRING, NESTED
from pipelines.contracts.rules import Reason
from pipelines.contracts.topics import MAX_NUMBER_DIGITS, FieldKind, Topic, WireField

JSON_TYPES: dict[FieldKind, tuple[str, ...]] = {
    "integer": ("BIGINT", "STRING"),
    "timestamp": ("STRING",),
    "text": ("STRING",),
}
"""Variant types that a JSON member may have; a number with a fraction, an exponent or over 64 bits is no BIGINT."""

FLAT_OBJECT = r"\A[^\[{]*+\{[^\[{]*+\z"

TOO_LONG_NUMBER = rf"(?<![0-9.eE+-])(?:[.eE+-]*+[0-9]){{{MAX_NUMBER_DIGITS + 1}}}"
"""Jackson has a limit of its own, and counts differently where a number happens to lie across two of its buffers."""


def decoding(topic: Topic, wire_format: str) -> tuple[dict[str, Column], ...]:
    """Columns to add, one step after the other, to take values apart by the deployment's wire format (`csv`, `json`).

    Those that only the steps need come with them.
    """
    text = F.col("value").cast("string")
    checked = {
        "broken": F.when(F.coalesce(F.length("value"), F.lit(0)) == 0, Reason.EMPTY.value).when(
            ~F.is_valid_utf8(text), Reason.NOT_UTF8.value
        ),
        "text": text,
    }
    by_format = {"csv": _from_csv, "json": _from_json}[wire_format]
    return (checked, *by_format(topic.fields))


def _from_csv(fields: tuple[WireField, ...]) -> tuple[dict[str, Column], ...]:
    """RFC 4180, one record, one line break allowed after it. Without quotes, the short way: split at the commas."""
    text = F.col("text")
    line = F.when(text.endswith("\r\n"), F.expr("left(text, length(text) - 2)")).when(
        text.endswith("\n"), F.expr("left(text, length(text) - 1)")
    ).otherwise(text)  # fmt: skip
    has_quotes, has_breaks = _has('"'), _has("\r") | _has("\n")
    # Neither way takes more fields out than there may be, and one: a value can be 16 MiB of commas.
    record = rf"\A{CSV_FIELD}(?:,{CSV_FIELD}){{0,{len(fields)}}}+\z"
    quoted_parts = F.transform(
        F.regexp_extract_all(F.concat(F.lit(","), "line"), F.lit(f",({CSV_FIELD})"), 1), _unquoted
    )
    parts = F.when(has_quotes, F.when(F.col("line").rlike(record), quoted_parts)).when(
        ~has_breaks, F.split("line", ",", len(fields) + 1)
    )
    syntax = F.coalesce(
        "broken", F.when(F.coalesce(F.size("fields"), F.lit(-1)) != len(fields), Reason.MALFORMED.value)
    )
    texts = (F.nullif(F.get("fields", F.lit(n)), F.lit("")).alias(field.column) for n, field in enumerate(fields))
    return (
        {"line": F.when(F.col("broken").isNull(), line)},
        {"fields": parts},
        {"syntax": syntax},
        {"fields": F.when(F.col("syntax").isNull(), F.col("fields"))},
        {
            "wire": F.struct(*texts),
            "mistyped": F.lit(None).cast("string"),
            "expected": F.lit(f"one CSV record of {len(fields)} fields"),
        },
    )


def _has(character: str) -> Column:
    return F.contains(F.col("line"), F.lit(character))


def _unquoted(part: Column) -> Column:
    """A field without its quotes, if it has some."""
    inner = F.replace(F.substr(part, F.lit(2), F.length(part) - 2), F.lit('""'), F.lit('"'))
    return F.when(part.startswith('"'), inner).otherwise(part)


def _from_json(fields: tuple[WireField, ...]) -> tuple[dict[str, Column], ...]:
    """One JSON object with distinct member names. Unknown members are ignored; a JSON null is a missing field.

    Spark's parser stops after the first JSON value, so it would overlook what follows. Wrapped in an array, only `,`
    or `]` can follow an object; wrapped in an object, only `, "name":` or `}`: what passes both wraps has nothing
    behind it.
    """
    document = F.try_parse_json("text")
    in_array = F.try_parse_json(F.concat(F.lit("["), "text", F.lit("]")))
    in_object = F.try_parse_json(F.concat(F.lit('{"":'), "text", F.lit("}")))
    is_object = F.col("text").rlike(r"\A[ \t\r\n]*+\{") & in_array.isNotNull() & in_object.isNotNull()
    outside_strings = F.regexp_replace("text", JSON_STRING, "")
    has_long_number = (F.length("text") > MAX_NUMBER_DIGITS) & outside_strings.rlike(TOO_LONG_NUMBER)
    wire = F.struct(
        *(
            F.when(_is_nested(field), NESTED)
            .otherwise(F.try_variant_get(_scalar(field), "$", "string"))
            .alias(field.column)
            for field in fields
        )
    )
    mistyped = F.coalesce(*(_mistyped(field) for field in fields))
    return (
        {
            "document": F.when(F.col("broken").isNull() & is_object & ~has_long_number, document),
            "is_flat": F.col("text").rlike(FLAT_OBJECT),
        },
        {"syntax": F.coalesce("broken", F.when(F.col("document").isNull(), Reason.MALFORMED.value))},
        {"wire": wire, "mistyped": mistyped, "expected": F.lit("one JSON object, each of whose names occurs once")},
    )


def _is_nested(field: WireField) -> Column:
    """Whether the member is an object or an array. Most values have no bracket but their first.

    Spark writes such a member as text, and describes its type, by recursion: at some hundreds of levels the stack
    overflows, and that ends the process.
    """
    containers = (_member(field, kind).isNotNull() for kind in ("array<variant>", "map<string,variant>"))
    return F.when(F.col("is_flat"), F.lit(False)).otherwise(reduce(Column.__or__, containers))


def _scalar(field: WireField) -> Column:
    """The member, or null: also where it is nested, lest anything looks into it."""
    return F.when(~_is_nested(field), _member(field, "variant"))


def _mistyped(field: WireField) -> Column:
    is_other = ~F.schema_of_variant(_scalar(field)).isin("VOID", *JSON_TYPES[field.kind])
    return F.when(_is_nested(field) | is_other, field.name)


def _member(field: WireField, kind: str) -> Column:
    return F.try_variant_get("document", f"$.{field.name}", kind)
