"""One scan is kept of those that tell the same."""

import pyarrow as pa

from pipelines.tables import SILVER_SHIP_EVENTS
from pipelines.transforms.distinct_scans import DISTINCT_SCANS
from tests.oracle.makers import scan
from tests.oracle.records import LogRecord
from tests.rows import answer, arrow, judged_events, scans


def offsets(batch: list[LogRecord], before: list[LogRecord]) -> list[int]:
    """Offsets of the scans of `batch` that are new after those of `before`."""
    known = answer(DISTINCT_SCANS, records=judged_events(before), known=arrow(SILVER_SHIP_EVENTS))
    return sorted(answer(DISTINCT_SCANS, records=judged_events(batch), known=known)["kafka_offset"].to_pylist())


def test_of_a_scan_told_thrice_in_a_batch_the_lowest_offset_stays() -> None:
    assert offsets([scan(offset=7), scan(offset=5), scan(offset=9, stop=4), scan(offset=8)], []) == [5, 9]


def test_scan_that_an_earlier_batch_kept_is_not_new() -> None:
    assert offsets([scan(offset=5), scan(offset=6, stop=4)], [scan(offset=1)]) == [6]


def test_scans_without_a_status_are_the_same_scan() -> None:
    assert offsets([scan(offset=5, status="")], [scan(offset=1, status="")]) == []
    assert offsets([scan(offset=5, status="")], [scan(offset=1, status="IT")]) == [5]


def test_every_part_of_the_identity_tells_scans_apart() -> None:
    variants = [
        scan(43, offset=2),
        scan(clock="10:00:00.000001", logged="10:00", offset=3),
        scan(code="DEP", offset=4),
        scan(status="OD", offset=5),
        scan(stop=4, offset=6),
    ]
    assert offsets(variants, [scan(offset=1)]) == [2, 3, 4, 5, 6]


def test_what_is_not_part_of_the_identity_does_not_tell_scans_apart() -> None:
    variants = [
        scan(carrier="DHL", offset=2),
        scan(place="DE,BY,Munich,80331", offset=3),
        scan(description="x", offset=4),
    ]
    assert offsets(variants, [scan(offset=1)]) == []


def test_rejected_record_is_neither_new_nor_known() -> None:
    future = scan(clock="11:00", logged="10:00", offset=1)
    assert offsets([scan(clock="11:00", logged="11:00", offset=2)], [future]) == [2]
    assert offsets([future], []) == []


def test_rejected_record_with_a_lower_offset_does_not_hide_the_scan_that_it_tells() -> None:
    told_early = scans([scan(offset=1), scan(offset=2)])
    records = told_early.append_column("reason", pa.array(["from_the_future", None]))
    assert answer(DISTINCT_SCANS, records=records, known=arrow(SILVER_SHIP_EVENTS))["kafka_offset"].to_pylist() == [2]
