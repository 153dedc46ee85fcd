"""The floor without an engine for streams: DuckDB makes all tables once, from a file with the bytes of the log."""

from pathlib import Path
from string import Template

import duckdb

from lab.benchmarks.answering import answer_requests

SCRIPT = Template(Path(__file__).with_suffix(".sql").read_text())


def main() -> None:
    answer_requests(lambda request: make_tables(Path(request["dump"]), Path(request["folder"])))


def make_tables(dump: Path, folder: Path) -> None:
    """Reads the dump and writes one Parquet file per table into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET preserve_insertion_order = false")
        connection.execute(SCRIPT.substitute(dump=dump, folder=folder))


if __name__ == "__main__":
    main()
