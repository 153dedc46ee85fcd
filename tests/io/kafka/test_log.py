"""Ranges of the log are half-open: the end is the offset of the next record."""

from itertools import product

import pyarrow as pa

from pipelines.io.kafka.log import OffsetRange, divided, ends, ranges_between, within
from tests.rows import answer

RANGES = (OffsetRange("ship-events", 0, 3, 6), OffsetRange("ship-events", 2, 0, 1), OffsetRange("ship-events", 1, 4, 4))


def test_record_at_the_start_is_within_and_record_at_the_end_is_not() -> None:
    partitions, offsets = zip(*product(range(4), range(8)), strict=True)
    coordinates = pa.table({"kafka_partition": partitions, "kafka_offset": offsets})
    found = answer(f"FROM coordinates WHERE {within(RANGES)}", coordinates=coordinates)
    assert {tuple(row.values()) for row in found.to_pylist()} == {(0, 3), (0, 4), (0, 5), (2, 0)}
    assert answer(f"FROM coordinates WHERE {within([])}", coordinates=coordinates).num_rows == 0


def test_range_counts_its_offsets() -> None:
    assert [part.size for part in RANGES] == [3, 1, 0]


def test_ranges_follow_each_other_without_gap_or_overlap() -> None:
    start, middle = {"ship-events": {0: 3, 1: 4}}, {"ship-events": {0: 6, 1: 4}}
    assert ranges_between(start, middle) == (OffsetRange("ship-events", 0, 3, 6), OffsetRange("ship-events", 1, 4, 4))
    assert ends(ranges_between(start, middle)) == middle


def test_partition_of_which_nothing_was_read_begins_at_its_first_offset() -> None:
    assert ranges_between({}, {"ship-routes": {1: 2}}) == (OffsetRange("ship-routes", 1, 0, 2),)


def test_ranges_are_divided_at_offsets_and_no_part_of_them_is_empty() -> None:
    ranges = [OffsetRange("a", part, 10, 20) for part in range(5)]
    before, after = divided(ranges, {"a": {0: 5, 1: 10, 2: 15, 3: 20, 4: 25}})
    assert [(part.partition, part.start, part.end) for part in before] == [(2, 10, 15), (3, 10, 20), (4, 10, 20)]
    assert [(part.partition, part.start, part.end) for part in after] == [(0, 10, 20), (1, 10, 20), (2, 15, 20)]
