"""Ledger, checkpoint and log agree, or the start is refused with both values."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from pipelines.errors import LakeMismatch, LogTruncated, PtsError, TopicMismatch
from pipelines.io.kafka.log import OffsetRange, Offsets, ranges_between
from pipelines.live.resume import check_agreement, check_partitions, check_plan, is_in_ledger, starting_offsets
from pipelines.state.ledger import LedgerRow

NOW = datetime(2026, 3, 1, tzinfo=UTC)
BEGIN: Offsets = {"ship-events": {0: 0, 1: 0}}
END: Offsets = {"ship-events": {0: 90, 1: 80}}
RANGES = (OffsetRange("ship-events", 0, 10, 50), OffsetRange("ship-events", 1, 0, 40))
LAST = LedgerRow(7, "query", 5, NOW, NOW, RANGES, {}, {})


@dataclass(frozen=True)
class StubCheckpoint:
    """What `Checkpoint` tells of a checkpoint that fits `LAST`."""

    id: str | None = "query"
    planned: int | None = 5
    committed: int | None = 5
    ends: Offsets = field(default_factory=lambda: {"ship-events": {0: 50, 1: 40}})
    path: str = "lake/_checkpoints/live"
    plan: Offsets = field(default_factory=lambda: {"ship-events": {0: 60, 1: 40}})
    """Where the newest batch that was planned ends."""

    def query_id(self) -> str | None:
        return self.id

    def last_planned(self) -> int | None:
        return self.planned

    def last_committed(self) -> int | None:
        return self.committed

    def ranges(self, batch_id: int) -> tuple[OffsetRange, ...]:
        assert batch_id == self.planned
        return ranges_between(self.start_offsets(batch_id), self.plan)

    def start_offsets(self, batch_id: int) -> Offsets:
        return self.ends if batch_id else {"ship-events": {0: 3, 1: 4}}


FITTING = StubCheckpoint()
NONE = StubCheckpoint(id=None, planned=None, committed=None)
NEW = StubCheckpoint(id="new", planned=None, committed=None)
FIRST_RANGES = (OffsetRange("ship-events", 0, 3, 3), OffsetRange("ship-events", 1, 4, 4))
BEGUN_ANEW = replace(LAST, batch_id=8, checkpoint_id="new", checkpoint_batch_id=-1, ranges=FIRST_RANGES)
"""The ledger's row that names a new checkpoint, none of whose batches is in the ledger yet."""


def position(last: LedgerRow | None, checkpoint: StubCheckpoint, begin: Offsets = BEGIN, end: Offsets = END) -> Offsets:
    stub: Any = checkpoint
    check_agreement(last, stub)
    return starting_offsets(last, stub, begin, end)


def test_new_lake_begins_where_the_log_begins() -> None:
    assert position(None, NONE, begin={"ship-events": {0: 5, 1: 6}}) == {"ship-events": {0: 5, 1: 6}}


def test_lake_whose_first_batch_was_cut_off_begins_where_that_was_planned() -> None:
    assert position(None, StubCheckpoint(planned=0, committed=None)) == {"ship-events": {0: 3, 1: 4}}


@pytest.mark.parametrize(
    "checkpoint",
    [FITTING, replace(FITTING, committed=4), replace(FITTING, planned=6)],
    ids=["clean stop", "cut off before Spark's commit", "cut off within the next batch"],
)
def test_lake_goes_on_where_its_ledger_ends(checkpoint: StubCheckpoint) -> None:
    assert position(LAST, checkpoint) == {"ship-events": {0: 50, 1: 40}}


@pytest.mark.parametrize("planned", [None, 0])
def test_new_checkpoint_begins_where_the_ledger_that_names_it_ends(planned: int | None) -> None:
    assert position(BEGUN_ANEW, replace(NEW, planned=planned)) == {"ship-events": {0: 3, 1: 4}}


SHORTER: Offsets = {"ship-events": {0: 60, 1: 2}}


@pytest.mark.parametrize(
    ("last", "checkpoint"),
    [
        (LAST, replace(FITTING, planned=6, plan=SHORTER)),
        (None, StubCheckpoint(planned=0, committed=None, plan=SHORTER)),
    ],
    ids=["next", "first"],
)
def test_plan_that_ends_before_it_begins_is_refused_with_the_remedy(
    last: LedgerRow | None, checkpoint: StubCheckpoint
) -> None:
    stub: Any = checkpoint
    with pytest.raises(
        LakeMismatch, match=r"ship-events/1 ends at offset 2, before \d+, .*`pts stream --new-checkpoint`"
    ):
        check_plan(last, stub)


@pytest.mark.parametrize(
    "checkpoint", [NONE, replace(FITTING, planned=6), replace(FITTING, plan=SHORTER)], ids=["none", "ahead", "done"]
)
def test_plan_that_can_be_repeated_or_is_done_is_accepted(checkpoint: StubCheckpoint) -> None:
    stub: Any = checkpoint
    check_plan(LAST, stub)


def test_a_batch_is_in_the_ledger_by_its_number_and_its_checkpoint() -> None:
    assert [is_in_ledger(number, "query", LAST) for number in (4, 5, 6)] == [True, True, False]
    assert not is_in_ledger(0, "another", LAST)
    assert not is_in_ledger(0, "new", BEGUN_ANEW)
    assert not is_in_ledger(0, "query", None)


@pytest.mark.parametrize(
    ("last", "checkpoint", "message"),
    [
        (None, FITTING, "has committed batch 5, but the ledger"),
        (LAST, NONE, "planned by checkpoint query, but lake/_checkpoints/live is missing"),
        (LAST, replace(FITTING, id="other"), "planned by checkpoint query, but lake/_checkpoints/live is other"),
        (LAST, replace(FITTING, planned=7, committed=6), "batch 5 .* has planned 7 and committed 6"),
        (LAST, replace(FITTING, planned=4, committed=4), "batch 5 .* has planned 4 and committed 4"),
        (LAST, replace(FITTING, committed=3), "batch 5 .* has planned 5 and committed 3"),
        (LAST, replace(FITTING, ends={"ship-events": {0: 51, 1: 40}}), "50.* in the ledger, but at .*51"),
        (BEGUN_ANEW, FITTING, "planned by checkpoint new, but lake/_checkpoints/live is query"),
        (BEGUN_ANEW, replace(NEW, planned=1), "batch -1 .* has planned 1 and committed None"),
        (BEGUN_ANEW, replace(NEW, planned=0, committed=0), "batch -1 .* has planned 0 and committed 0"),
        (replace(BEGUN_ANEW, ranges=RANGES), NEW, "50.* in the ledger, but at .*3"),
    ],
    ids=[
        "no ledger",
        "no checkpoint",
        "other checkpoint",
        "ledger behind",
        "ledger ahead",
        "commits lost",
        "other ends",
        "old checkpoint",
        "two batches of a new checkpoint ahead",
        "ledger behind a new checkpoint",
        "other start",
    ],
)
def test_ledger_and_checkpoint_that_contradict_each_other_are_refused(
    last: LedgerRow | None, checkpoint: StubCheckpoint, message: str
) -> None:
    with pytest.raises(LakeMismatch, match=message):
        position(last, checkpoint)


@pytest.mark.parametrize(
    ("begin", "end", "kind", "message"),
    [
        ({"ship-events": {0: 51, 1: 0}}, END, LogTruncated, "ship-events/0 begins at offset 51, but 50 is the next"),
        (BEGIN, {"ship-events": {0: 90, 1: 39}}, LogTruncated, "ship-events/1 ends at offset 39, .* read up to 40"),
        (BEGIN, {"ship-events": {0: 90}}, TopicMismatch, r"has partitions \[0\], but the lake was built from \[0, 1\]"),
    ],
    ids=["truncated", "shorter", "fewer partitions"],
)
def test_log_that_does_not_hold_what_comes_next_is_refused(
    begin: Offsets, end: Offsets, kind: type[PtsError], message: str
) -> None:
    with pytest.raises(kind, match=message):
        position(LAST, FITTING, begin, end)


def test_log_that_ends_just_at_the_position_of_the_lake_is_accepted() -> None:
    at_the_edge: Offsets = {"ship-events": {0: 50, 1: 40}}
    assert position(LAST, FITTING, begin=at_the_edge, end=at_the_edge) == at_the_edge


def test_partitions_that_were_added_are_refused() -> None:
    check_partitions("ship-events", [0, 1], [1, 0])
    with pytest.raises(TopicMismatch, match=r"has partitions \[0, 1, 2\], but the lake was built from \[0, 1\]"):
        check_partitions("ship-events", [0, 1], [0, 1, 2])
