"""The schema that a table's record stands for, and how a table that is there differs from its record."""

from collections.abc import Iterator, Mapping
from functools import cache

from pyspark.sql import types as T

from pipelines.tables import Table


def schema_of(table: Table, *, with_comments: bool = False) -> T.StructType:
    """The table's columns."""
    return T.StructType(
        [
            T.StructField(
                column.name,
                _data_type(column.type),
                not column.is_required,
                {"comment": column.doc} if with_comments else None,
            )
            for column in table.columns
        ]
    )


PLAIN = {
    "BIGINT": T.LongType(),
    "BINARY": T.BinaryType(),
    "BOOLEAN": T.BooleanType(),
    "DOUBLE": T.DoubleType(),
    "INT": T.IntegerType(),
    "STRING": T.StringType(),
    "TIMESTAMP": T.TimestampType(),
}


@cache
def _data_type(sql: str) -> T.DataType:
    """What Spark takes a column's type for, without its parser, which needs a session."""
    if sql in PLAIN:
        return PLAIN[sql]
    kind, _, inner = sql.removesuffix(">").partition("<")
    if kind == "ARRAY":
        return T.ArrayType(_data_type(inner))
    assert kind == "STRUCT", sql
    fields = (field.split(": ") for field in inner.split(", "))
    return T.StructType([T.StructField(name.strip("`"), _data_type(type_)) for name, type_ in fields])


def differences(table: Table, schema: T.StructType, properties: Mapping[str, str]) -> Iterator[str]:
    """Every way in which a table with this schema and these properties is not the one of the record, for a person."""
    fields = {field.name: field for field in schema}
    expected = {field.name: field for field in schema_of(table)}
    for name in expected.keys() - fields.keys():
        yield f"column {name} {expected[name].dataType.simpleString()} is missing"
    for name in fields.keys() - expected.keys():
        yield f"column {name} {fields[name].dataType.simpleString()} is unknown"
    for name in expected.keys() & fields.keys():
        there, here = fields[name], expected[name]
        if there.dataType.simpleString() != here.dataType.simpleString():
            yield f"column {name} is {there.dataType.simpleString()}, not {here.dataType.simpleString()}"
        elif there.nullable != here.nullable:
            yield f"column {name} is {_nullability(there)}, not {_nullability(here)}"
    if not fields.keys() ^ expected.keys() and list(fields) != list(expected):
        yield f"the columns are in the order {', '.join(fields)}, not {', '.join(expected)}"
    there_properties = {
        key: value for key, value in properties.items() if key in table.properties or "constraints" in key
    }
    for key in sorted(there_properties.keys() | table.properties.keys()):
        if there_properties.get(key) != table.properties.get(key):
            yield f"property {key} is {there_properties.get(key)!r}, not {table.properties.get(key)!r}"


def outgrown_constraints(table: Table, properties: Mapping[str, str]) -> dict[str, str]:
    """The record's conditions, by name, of which a table with these properties has an earlier one, or none since that
    was taken away to be replaced.
    """
    return {
        name: table.constraints[name]
        for name, earlier in table.earlier_constraints.items()
        if properties.get(f"delta.constraints.{name}") in (None, *earlier)
    }


def _nullability(field: T.StructField) -> str:
    return "nullable" if field.nullable else "NOT NULL"
