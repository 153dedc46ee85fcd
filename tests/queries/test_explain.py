"""How a package's report came about, from lakes that grew batch by batch."""

import io
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from rich.console import Console

from pipelines.errors import NotFound
from pipelines.queries.explain import Explanation, explanation
from pipelines.settings import Settings
from pipelines.terminal.package import explanation_page
from pipelines.terminal.page import show
from tests.queries.package_rows import MOMENT, REPORTS, ROUTES, SCANS, report, route, scan

pytestmark = pytest.mark.slow

RANGES = pa.list_(
    pa.struct(
        [
            ("kafka_topic", pa.string()),
            ("kafka_partition", pa.int32()),
            ("start_offset", pa.int64()),
            ("end_offset", pa.int64()),
        ]
    )
)
STATES = pa.list_(pa.struct([("table_name", pa.string()), ("version", pa.int64()), ("position", pa.int64())]))
LEDGER = pa.schema([("batch_id", pa.int64()), ("committed_at", MOMENT), ("offsets", RANGES), ("tables", STATES)])
TABLES = {"silver.ship_events": SCANS, "silver.ship_routes": ROUTES, "gold.remaining_stops": REPORTS}


class GrowingLake:
    """A lake with package 42 only, whose report follows each batch."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings(home=folder)
        self.scans: list[dict[str, Any]] = []
        self.routes: list[dict[str, Any]] = []
        self._ends = {"ship-events": 0, "ship-routes": 0}
        self._batch_id = -1
        for name in TABLES:
            self.write(name, [])

    def path(self, name: str) -> Path:
        return Path(self.settings.lake_root) / name.replace(".", "/")

    def write(self, name: str, rows: list[dict[str, Any]]) -> None:
        """A new version of the table with these rows only."""
        write_deltalake(self.path(name), pa.Table.from_pylist(rows, schema=pa.schema(TABLES[name])), mode="overwrite")

    def accept(self, *records: dict[str, Any]) -> None:
        """Into silver, and no further."""
        for record in records:
            (self.routes if "end_stop_id" in record else self.scans).append(record)
        self.write("silver.ship_events", self.scans)
        self.write("silver.ship_routes", self.routes)

    def fold(self) -> None:
        latest = max(self.scans, key=lambda row: (row["occurred_at"], row["kafka_timestamp"]), default=None)
        last_route = max(self.routes, key=lambda row: row["kafka_timestamp"], default=None)
        self.write("gold.remaining_stops", [report(latest, last_route)] if latest or last_route else [])

    def commit(self, **positions: int) -> None:
        """A row in the ledger, up to the last accepted record; tables are at the batch unless said otherwise."""
        self._batch_id += 1
        ranges = []
        for topic, rows in (("ship-events", self.scans), ("ship-routes", self.routes)):
            end = max([self._ends[topic], *(row["kafka_offset"] + 1 for row in rows)])
            ranges.append({"kafka_topic": topic, "kafka_partition": 2, "start_offset": self._ends[topic]})
            ranges[-1]["end_offset"] = self._ends[topic] = end
        states = [
            {
                "table_name": name,
                "version": DeltaTable(self.path(name)).version(),
                "position": positions.get(name.partition(".")[2], self._batch_id),
            }
            for name in TABLES
        ]
        at = datetime(2024, 5, 2, 12, self._batch_id, tzinfo=UTC)
        row = {"batch_id": self._batch_id, "committed_at": at, "offsets": ranges, "tables": states}
        write_deltalake(self.path("ops.batches"), pa.Table.from_pylist([row], schema=LEDGER), mode="append")

    def batch(self, *records: dict[str, Any]) -> None:
        self.accept(*records)
        self.fold()
        self.commit()

    def vacuum(self, name: str, version: int) -> None:
        """Deletes the data files of one old version."""
        for uri in DeltaTable(self.path(name), version=version).file_uris():
            Path(uri).unlink()

    def explained(self, **options: int) -> Explanation:
        return explanation(42, self.settings, **options)


@pytest.fixture
def lake(tmp_path: Path) -> GrowingLake:
    return GrowingLake(tmp_path)


def history(lake: GrowingLake) -> list[tuple[Any, ...]]:
    """Of each entry: its batch, remaining stops, and what each arrival did."""
    return [
        (
            entry["batch_id"],
            entry["report"] and entry["report"]["number_of_remaining_stops"],
            *((arrival["coordinates"], arrival["effect"]) for arrival in entry["arrivals"]),
        )
        for entry in lake.explained().as_json()["history"]
    ]


def page(explained: Explanation, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None)
    show(explanation_page(explained), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_sources_are_the_scan_and_the_route_with_their_batch_and_the_versions_that_showed_them_first(
    lake: GrowingLake,
) -> None:
    lake.batch(route(10, offset=0))
    lake.batch(scan(1, offset=0))
    lake.batch(scan(2, minute=5, offset=1))
    lake.batch()
    assert lake.explained().as_json()["sources"] == [
        {
            "coordinates": "ship-events/2@1",
            "batch_id": 2,
            "committed_at": "2024-05-02T12:02:00.000000Z",
            "versions": {"silver.ship_events": 3, "gold.remaining_stops": 3},
        },
        {
            "coordinates": "ship-routes/2@0",
            "batch_id": 0,
            "committed_at": "2024-05-02T12:00:00.000000Z",
            "versions": {"silver.ship_routes": 1, "gold.remaining_stops": 1},
        },
    ]


def test_history_shows_the_report_after_each_batch_and_that_a_late_scan_changed_nothing(lake: GrowingLake) -> None:
    lake.batch(route(10, offset=0), scan(1, offset=0))
    lake.batch(scan(5, minute=9, offset=1))
    lake.batch(scan(3, minute=4, offset=2))
    assert history(lake) == [
        (0, 9, ("ship-events/2@0", "made the report"), ("ship-routes/2@0", "made the report")),
        (1, 5, ("ship-events/2@1", "made the report")),
        (2, 5, ("ship-events/2@2", "changed nothing")),
    ]


def test_history_shows_a_new_route_and_a_withdrawal(lake: GrowingLake) -> None:
    lake.batch(scan(3, offset=0))
    lake.batch(route(10, minute=1, offset=0))
    lake.batch(route(4, minute=2, offset=1))
    lake.batch(route(None, minute=3, offset=2))
    assert history(lake) == [
        (0, None, ("ship-events/2@0", "made the report")),
        (1, 7, ("ship-routes/2@0", "made the report")),
        (2, 1, ("ship-routes/2@1", "made the report")),
        (3, None, ("ship-routes/2@2", "made the report")),
    ]
    entry = lake.explained().as_json()["history"][3]
    assert entry["arrivals"] == [
        {"kind": "withdrawal", "coordinates": "ship-routes/2@2", "stop_id": None, "effect": "made the report"}
    ]
    assert entry["report"] == {
        "number_of_remaining_stops": None,
        "current_stop_id": 3,
        "end_stop_id": None,
        "status_code": "IT",
        "event_coordinates": "ship-events/2@0",
        "route_coordinates": "ship-routes/2@2",
    }


def test_of_scans_in_one_batch_only_the_latest_made_the_report(lake: GrowingLake) -> None:
    lake.batch(scan(1, offset=0), scan(3, minute=5, offset=1), scan(2, minute=4, offset=2))
    assert history(lake) == [
        (
            0,
            None,
            ("ship-events/2@0", "overtaken"),
            ("ship-events/2@1", "made the report"),
            ("ship-events/2@2", "overtaken"),
        )
    ]


def test_batches_that_brought_nothing_of_the_package_are_not_in_its_history(lake: GrowingLake) -> None:
    lake.batch(scan(1, offset=0))
    lake.batch()
    lake.batch(scan(2, minute=5, offset=7))
    assert [entry[0] for entry in history(lake)] == [0, 2]


def test_report_is_read_at_the_first_batch_at_which_the_table_had_followed(lake: GrowingLake) -> None:
    lake.accept(scan(1, offset=0))
    lake.commit(remaining_stops=-1)
    lake.fold()
    lake.commit()
    entry = lake.explained().as_json()["history"][0]
    assert (entry["batch_id"], entry["version"], entry["report"]["current_stop_id"]) == (0, 1, 1)


def test_batch_that_the_reports_do_not_show_yet_has_none(lake: GrowingLake) -> None:
    lake.accept(scan(1, offset=0))
    lake.commit(remaining_stops=-1)
    entry = lake.explained().as_json()["history"][0]
    assert entry["gap"] == "gold.remaining_stops does not show it yet"
    assert entry["report"] is None
    assert entry["arrivals"][0]["effect"] is None


def test_record_whose_batch_is_not_in_the_ledger_yet_comes_last_without_a_batch(lake: GrowingLake) -> None:
    lake.batch(scan(1, offset=0))
    lake.accept(scan(2, minute=5, offset=1))
    lake.fold()
    found = lake.explained().as_json()
    assert found["history"][-1]["batch_id"] is None
    assert found["history"][-1]["gap"] == "not in the ledger yet"
    assert found["sources"] == [
        {"coordinates": "ship-events/2@1", "batch_id": None, "committed_at": None, "versions": {}}
    ]
    assert page(lake.explained()).count("not in the ledger yet") == 2


def test_version_that_was_vacuumed_is_a_gap_and_the_others_are_shown(lake: GrowingLake) -> None:
    for stop in (1, 2, 3):
        lake.batch(scan(stop, minute=stop, offset=stop))
    lake.vacuum("gold.remaining_stops", version=2)
    first, second, third = lake.explained().as_json()["history"]
    assert second["gap"] == "version 2 can no longer be read"
    assert second["report"] is None
    assert second["arrivals"][0]["effect"] is None
    assert [first["report"]["current_stop_id"], third["report"]["current_stop_id"]] == [1, 3]


def test_version_whose_commits_were_cleaned_up_is_a_gap(lake: GrowingLake) -> None:
    for stop in (1, 2):
        lake.batch(scan(stop, minute=stop, offset=stop))
    DeltaTable(lake.path("gold.remaining_stops")).create_checkpoint()
    (lake.path("gold.remaining_stops") / "_delta_log" / f"{0:020d}.json").unlink()
    assert [entry["gap"] for entry in lake.explained().as_json()["history"]] == [
        "version 1 can no longer be read",
        None,
    ]


def test_version_of_a_table_that_was_rebuilt_since_is_a_gap_although_the_new_one_has_that_version(
    lake: GrowingLake,
) -> None:
    for stop in (1, 2):
        lake.batch(scan(stop, minute=stop, offset=stop))
    lake.path("gold.remaining_stops").rename(lake.path("gold._thrown_away"))
    lake.batch()
    for stop in (3, 4, 5):
        lake.batch(scan(stop, minute=stop, offset=stop))
    assert [(entry["version"], entry["gap"]) for entry in lake.explained().as_json()["history"]] == [
        (1, "version 1 can no longer be read"),
        (2, "version 2 can no longer be read"),
        (1, None),
        (2, None),
        (3, None),
    ]


def test_only_the_newest_batches_are_shown_and_the_others_counted(lake: GrowingLake) -> None:
    lake.batch(route(10, offset=0))
    for stop in (1, 2, 3, 4):
        lake.batch(scan(stop, minute=stop, offset=stop))
    explained = lake.explained(limit=2)
    assert [entry["batch_id"] for entry in explained.as_json()["history"]] == [3, 4]
    assert explained.as_json()["older_count"] == 3
    assert [source["batch_id"] for source in explained.as_json()["sources"]] == [4, 0]
    assert "Left out: 3 older batches." in page(explained)
    assert "Left out" not in page(lake.explained(limit=5))


def test_package_that_was_removed_has_the_sources_of_its_expired_report(lake: GrowingLake) -> None:
    lake.batch(route(10, offset=0), scan(10, offset=0, status_code="DL"))
    expired = report(lake.scans[0], lake.routes[0])
    schema = pa.schema(REPORTS)
    write_deltalake(lake.path("ops.expired_reports"), pa.Table.from_pylist([expired], schema=schema))
    lake.write("gold.remaining_stops", [])
    lake.commit()
    lake.accept(scan(9, minute=-5, offset=1))
    lake.commit()
    found = lake.explained().as_json()
    assert found["is_expired"] is True
    assert [source["batch_id"] for source in found["sources"]] == [0, 0]
    assert found["history"][-1]["report"] is None
    assert found["history"][-1]["gap"] is None
    assert found["history"][-1]["arrivals"][0]["effect"] == "changed nothing"
    assert "not in gold.remaining_stops" in page(lake.explained())


def test_lake_without_a_ledger_cannot_explain(lake: GrowingLake) -> None:
    lake.accept(scan(1, offset=0))
    with pytest.raises(NotFound, match=r"no table ops\.batches"):
        lake.explained()


def test_json_is_that_of_the_report_and_more(lake: GrowingLake) -> None:
    lake.batch(scan(1, offset=0))
    found = json.loads(json.dumps(lake.explained().as_json()))
    assert found["report"]["event_coordinates"] == "ship-events/2@0"
    assert found["history"][0]["committed_at"] == "2024-05-02T12:00:00.000000Z"


def test_page_shows_what_arrived_beside_what_the_report_said(lake: GrowingLake) -> None:
    lake.batch(route(10, offset=0), scan(5, minute=9, offset=0))
    lake.batch(scan(3, minute=4, offset=1))
    text = page(lake.explained())
    assert "Package 42: 5 stops remain" in text
    assert "silver.ship_events 1, gold.remaining_stops 1" in text
    assert "silver.ship_routes 1, gold.remaining_stops 1" in text
    last = next(line for line in text.splitlines() if "changed nothing" in line)
    cells = [cell.strip() for cell in last.split("  ") if cell.strip()]
    assert cells == [
        "1", "2024-05-02 12:01:00", "2", "scan 2@1, changed nothing", "5 (5 of 10)", "in transit", "2@0", "2@0",
    ]  # fmt: skip
