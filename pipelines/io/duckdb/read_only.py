"""Which SQL only reads, as DuckDB's parser sees it, and what it says about the rest."""

import re

import duckdb

from pipelines.errors import InvalidInput, first_sentence

EXPLAIN = re.compile(r"\s*EXPLAIN\s+(ANALYZE\s+|\(\s*(ANALYZE|FORMAT)\b[^)]*\)\s*)?", re.IGNORECASE)


def check_is_query(sql: str) -> None:
    """Raises `InvalidInput` unless the text is one statement that reads: to DuckDB all of the listed kinds are SELECT.

    What EXPLAIN explains must be one too: `EXPLAIN ANALYZE` executes it, and `COPY … TO` would write a file.
    """
    try:
        statements = duckdb.extract_statements(sql)
        explained = duckdb.extract_statements(EXPLAIN.sub("", sql, count=1)) if EXPLAIN.match(sql) else statements
    except duckdb.Error as error:
        raise InvalidInput(f"DuckDB rejects the query: {first_sentence(error)}.") from error
    if len(statements) != 1:
        raise InvalidInput(f"Give one statement, not {len(statements)}.")
    if [statement.type for statement in explained] != [duckdb.StatementType.SELECT]:
        raise InvalidInput("Only a query is accepted: SELECT, WITH, DESCRIBE, SHOW, SUMMARIZE, or EXPLAIN of one.")
