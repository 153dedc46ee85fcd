"""A log that became another one is refused, however long it is; what cannot be compared is no reason to refuse."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from pipelines.errors import LogTruncated
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.consumer import Message
from pipelines.io.kafka.log import Offsets
from pipelines.live import log_identity
from pipelines.live.log_identity import check_same_log
from pipelines.tables import BRONZE_SHIP_EVENTS, Table

REACHED: dict[str, Offsets] = {BRONZE_SHIP_EVENTS.name: {"ship-events": {0: 7, 1: 3, 2: 0}}}
BEGIN: Offsets = {"ship-events": {0: 0, 1: 0, 2: 0}}
IN_THE_YEAR_10000_MS = 253_402_300_800_000


def record(partition: int, offset: int) -> Message:
    return Message(partition, offset, b"value %d" % offset, b"%d" % partition, IN_THE_YEAR_10000_MS)


ARCHIVED = [record(0, 5), record(0, 6), record(1, 2), record(1, 5)]
"""The last one of a batch that the ledger does not have yet."""


class StubLake:
    """A lake whose archive of events has these records."""

    def __init__(self, records: Iterable[Message]) -> None:
        self._records = list(records)

    def look_up(self, table: Table, _column: str, spans: Iterable[tuple[int, int]]) -> pa.Table:
        wanted = list(spans) if table == BRONZE_SHIP_EVENTS else []
        found = [each for each in self._records if any(begin <= each.offset < end for begin, end in wanted)]
        if not found:
            return pa.table({})
        micros = pa.array([each.timestamp_ms * 1000 for each in found], pa.int64())
        return pa.table(
            {
                "kafka_partition": [each.partition for each in found],
                "kafka_offset": [each.offset for each in found],
                "key": [each.key for each in found],
                "value": [each.value for each in found],
                "kafka_timestamp": micros.cast(pa.timestamp("us", "UTC")),
            }
        )


def check(monkeypatch: pytest.MonkeyPatch, there: Iterable[Message], begin: Offsets = BEGIN) -> Offsets:
    """Compares `ARCHIVED` with what is on the log; from where that was asked."""
    asked: list[Offsets] = []

    def first_messages(_servers: str, starts: Offsets) -> dict[tuple[str, int], Message]:
        asked.append(starts)
        wanted = starts["ship-events"]
        return {("ship-events", each.partition): each for each in there if each.partition in wanted}

    monkeypatch.setattr(log_identity, "first_messages", first_messages)
    lake: Any = StubLake(ARCHIVED)
    check_same_log(lake, REACHED, begin | {"ship-routes": {}}, Connection(""))
    return asked[0]


def test_log_that_holds_what_was_read_is_gone_on_with(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(monkeypatch, [record(0, 6), record(1, 2)])["ship-events"] == {0: 6, 1: 2}


@pytest.mark.parametrize(
    "there",
    [
        replace(record(1, 2), value=b"other"),
        replace(record(1, 2), value=None),
        replace(record(1, 2), key=b"other"),
        replace(record(1, 2), timestamp_ms=1),
        replace(record(1, 2), offset=4),
        record(0, 6),
    ],
    ids=["value", "no value", "key", "time", "a hole", "none"],
)
def test_log_that_holds_another_record_at_the_position_of_the_lake_is_refused(
    monkeypatch: pytest.MonkeyPatch, there: Message
) -> None:
    with pytest.raises(LogTruncated, match="ship-events/1 holds another record at offset 2"):
        check(monkeypatch, [record(0, 6), there])


def test_end_of_a_transaction_is_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REACHED[BRONZE_SHIP_EVENTS.name]["ship-events"], 0, 8)
    assert check(monkeypatch, [record(0, 6), record(1, 2)])["ship-events"][0] == 6


def test_newest_record_is_compared_that_others_follow_which_were_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REACHED, BRONZE_SHIP_EVENTS.name, {"ship-events": {0: 5_000, 1: 5_000, 2: 0}})
    assert check(monkeypatch, [record(0, 6), record(1, 5)])["ship-events"] == {0: 6, 1: 5}


def test_record_that_the_log_has_deleted_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    begin: Offsets = {"ship-events": {0: 0, 1: 3, 2: 0}}
    assert check(monkeypatch, [record(0, 6)], begin)["ship-events"] == {0: 6}


def test_archive_without_records_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REACHED, BRONZE_SHIP_EVENTS.name, {})
    assert check(monkeypatch, []) == {"ship-events": {}, "ship-routes": {}}
