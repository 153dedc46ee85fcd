"""What is in quarantine: every record that a rule rejected, as it stood on the log."""

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.contracts.wire import Wire
from pipelines.tables import SILVER_QUARANTINE
from pipelines.transforms.judge import judged
from pipelines.transforms.rejected import REJECTED
from tests.comparison import Rows, expected_rows, in_micros
from tests.frames import in_order, record_frame
from tests.oracle.makers import route, scan
from tests.rows import answer

HEADERS = (("trace", None), ("trace", b"\x00\xff"), ("source", b"x"))
EVENTS = [
    replace(scan(1, offset=0), value=None),
    replace(scan(2, offset=1, partition=3), value=b"\xff\xfe\x00", headers=HEADERS),
    replace(scan(3, offset=2), key=None, headers=()),
    scan(4, offset=3),
    scan(5, clock="11:00", logged="10:00", offset=4),
]
WIRE = Wire("csv")
ROUTES = [replace(route(1, offset=0), value=b"", headers=HEADERS), replace(route(2, offset=1), key=b"\xff", value=None)]


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> Rows:
    rows = []
    for topic, records in ((SHIP_EVENTS, EVENTS), (SHIP_ROUTES, ROUTES)):
        frame = judged(record_frame(spark, records), topic, WIRE)
        columns = dict.fromkeys(("reason", *SILVER_QUARANTINE.column_names))
        rows += in_micros(answer(REJECTED, records=frame.select(*columns).toArrow())).to_pylist()
    return rows


def test_rejected_record_keeps_its_bytes_its_headers_and_its_coordinates(rows: Rows) -> None:
    expected = expected_rows([*EVENTS, *ROUTES])["silver.quarantine"]
    assert in_order({name: row[name] for name in row if name != "detail"} for row in rows) == expected


def test_accepted_record_is_not_in_quarantine(rows: Rows) -> None:
    assert {(row["kafka_topic"], row["kafka_offset"]) for row in rows} == {
        *(("ship-events", offset) for offset in (0, 1, 2, 4)),
        *(("ship-routes", offset) for offset in (0, 1)),
    }


def test_quarantine_says_what_was_wrong(rows: Rows) -> None:
    details = {
        (row["reason"], row["kafka_offset"]): row["detail"] for row in rows if row["kafka_topic"] == "ship-events"
    }
    assert details == {
        ("empty", 0): "the value has no bytes",
        ("not_utf8", 1): "the value is not UTF-8",
        ("key_mismatch", 2): "the key is no key, trackingNumber is 3",
        ("from_the_future", 4): "3600 s after the record's timestamp",
    }
