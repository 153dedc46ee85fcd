"""What is told of executors and of a lake in a bucket."""

from pathlib import Path

from lab.benchmarks.options import Options
from lab.benchmarks.results import Run, new_results
from lab.benchmarks.tables import executors_table, store_table
from tests.stores import requests


def run(part: str, batch_seconds: float, **told: object) -> Run:
    batch = {"batch_seconds": batch_seconds, "records_per_batch": 2_000}
    return {"part": part, "contender": "ours", "round": 1, **batch, **told}


def test_tables_have_a_row_for_each_number_of_executors_and_each_place() -> None:
    found = new_results(Options())
    assert executors_table(found) == store_table(found) == ""
    found.runs = [
        run("executors", 3.25, executors=2, seconds=40.0),
        run("executors", 2.5, executors=0, seconds=30.0),
        run("store", 1.5, place="store", rate=500, requests_per_batch=61.4),
        run("store", 0.75, place="folder", rate=500, requests_per_batch=0.0),
    ]
    assert executors_table(found).splitlines()[2:] == [
        "| none: within the job | 30.0 | 2.5 | 2,000 |",
        "| 2 | 40.0 | 3.2 | 2,000 |",
    ]
    assert store_table(found).splitlines()[2:] == [
        "| folder | 500 | 0.75 | 2,000 | 0 |",
        "| store | 500 | 1.50 | 2,000 | 61 |",
    ]


def test_requests_are_those_that_the_store_tells_of(tmp_path: Path) -> None:
    assert len(requests(tmp_path)) == 0
    (tmp_path / "store.log").write_text(
        ' * Running on http://127.0.0.1:1\n127.0.0.1 - - [now] "GET /a HTTP/1.1" 200 -\n'
        '127.0.0.1 - - [now] "PUT /a HTTP/1.1" 200 -\n'
    )
    assert len(requests(tmp_path)) == 2
