"""The floor with a broker: one process reads portions of the log and writes what each adds; gold is made at the end.

Its state is in memory, and its writes know nothing of each other: after a crash it starts over.
"""

from pathlib import Path

from deltalake import write_deltalake

from lab.benchmarks.answering import answer_requests
from lab.benchmarks.drivers.duckdb_tables import ADDED, Tables
from lab.benchmarks.seeded_log import portions

RECORDS_AT_ONCE = 250_000


def main() -> None:
    answer_requests(lambda request: run(request["servers"], Path(request["folder"])))


def run(servers: str, folder: Path) -> None:
    """Reads the topics up to their ends, and leaves a Delta table per table of the design."""
    tables = Tables()
    for portion in portions(servers, RECORDS_AT_ONCE):
        tables.connection.register("portion", portion)
        tables.take("portion")
        for name, query in ADDED.items():
            write_deltalake(folder / name, tables.connection.sql(query).to_arrow_table(), mode="append")
    for name in tables.fold():
        write_deltalake(folder / name, tables.connection.table(name).to_arrow_table())


if __name__ == "__main__":
    main()
