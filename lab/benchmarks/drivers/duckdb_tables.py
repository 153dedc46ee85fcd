"""All tables of the design in DuckDB alone, but for ops.batches and the details of silver.quarantine.

As a driver, the floor without an engine for streams: everything is made once, from a file with the bytes of the log.
"""

from collections.abc import Iterator
from pathlib import Path

import duckdb

from lab.benchmarks.answering import answer_requests

SCRIPTS = Path(__file__).with_name("sql")
ADDED = {
    "bronze_ship_events": "FROM records WHERE kafka_topic = 'ship-events'",
    "bronze_ship_routes": "FROM records WHERE kafka_topic = 'ship-routes'",
    "silver_ship_events": "FROM new_scans",
    "silver_ship_routes": "FROM new_routes",
    "silver_quarantine": "FROM rejected",
}
"""What a part of the log adds to the tables of bronze and silver, as queries."""
GOLD = (
    "gold_remaining_stops",
    "gold_stop_activity",
    "gold_busiest_stops",
    "gold_carrier_throughput",
    "gold_failed_delivery_alerts",
)


class Tables:
    """The state, in memory, and what follows from it."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute("SET TimeZone = 'UTC'")
        self.connection.execute("SET preserve_insertion_order = false")
        self._run("state")

    def take(self, records: str) -> None:
        """Takes in a part of the log, a relation like `seeded_log.RECORDS`; then `ADDED` tells what it adds."""
        in_micros = "* REPLACE (kafka_timestamp::TIMESTAMPTZ AS kafka_timestamp)"
        self.connection.execute(f"CREATE OR REPLACE TABLE records AS SELECT {in_micros} FROM {records}")
        self._run("batch")

    def fold(self) -> Iterator[str]:
        """Makes the tables of gold, and names them."""
        self._run("gold")
        yield from GOLD

    def _run(self, script: str) -> None:
        self.connection.execute((SCRIPTS / f"{script}.sql").read_text())


def main() -> None:
    answer_requests(lambda request: make_tables(Path(request["dump"]), Path(request["folder"])))


def make_tables(dump: Path, folder: Path) -> None:
    """Reads the dump and writes one Parquet file per table into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    tables = Tables()
    tables.take(f"'{dump}'")
    for name, query in {**ADDED, **{name: f"FROM {name}" for name in tables.fold()}}.items():
        tables.connection.execute(f"COPY ({query}) TO '{folder / name}.parquet'")


if __name__ == "__main__":
    main()
