"""Parquet files in DuckDB's SQL."""


def parquet_rows(files: str, *, union_by_name: bool = False) -> str:
    """SQL for the rows of files, given as an expression of DuckDB's: what they hold, whatever the folders above them
    are called. Left to itself, DuckDB would take `country=DE` there for a column, in place of the one in the file.

    Unless told otherwise, a file that lacks a column of the first is an error.
    """
    return f"read_parquet({files}, hive_partitioning = false, union_by_name = {str(union_by_name).lower()})"
