"""Parquet files in DuckDB's SQL."""

from collections.abc import Iterable


def parquet_rows(files: str, *, union_by_name: bool = False, with_filename: bool = False) -> str:
    """SQL for the rows of files, given as an expression of DuckDB's: what they hold, whatever the folders above them
    are called. Left to itself, DuckDB would take `country=DE` there for a column, in place of the one in the file.

    Unless told otherwise, a file that lacks a column of the first is an error. With `with_filename`, each row has the
    path of its file in column `filename`.
    """
    options = f"hive_partitioning = false, union_by_name = {_sql(union_by_name)}, filename = {_sql(with_filename)}"
    return f"read_parquet({files}, {options})"


def file_list(paths: Iterable[str]) -> str:
    """The paths as an expression of DuckDB's."""
    return f"[{', '.join(map(literal, paths))}]"


def literal(text: str) -> str:
    """The text as SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """The name as SQL."""
    return '"' + name.replace('"', '""') + '"'


def _sql(value: bool) -> str:
    return str(value).lower()
