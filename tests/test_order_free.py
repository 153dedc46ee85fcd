"""Whatever the log and however it is cut, repeated and interleaved: the tables are the oracle's, row for row."""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from pprint import pformat

import pytest
from pyspark.sql import SparkSession

from pipelines.engine import schedule
from pipelines.engine.batch import Batch, CatchUp
from pipelines.graph import CATCH_UP_GROUPS
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka import log
from pipelines.io.kafka.log import OffsetRange
from tests.batches import Crashed, CrashingLake, batches, new_lake, run, tables
from tests.cases import GAPS, SEED, Case, Pack, drawn, packed
from tests.comparison import Rows, expected_rows
from tests.oracle import expected_tables

CASES = 240

Differences = dict[int, dict[str, tuple[Rows, Rows]]]
"""By case and table: the rows that are there, and those that should be."""


def failing(spark: SparkSession, root: str, all_cases: Sequence[Case]) -> Differences:
    """What the tables hold and what they should, of each case and table where the two differ.

    Every batch but the first is cut off after some write, and repeated; catch-up tables move in some batches, each
    group for itself and up to this batch or an earlier one, and all of them in the last. Some batches are run
    as if their rows were many: planned and written otherwise; some as if there were many reports, which then wait.
    """
    pack = packed(all_cases, GAPS)
    chance = random.Random(SEED)
    new_lake(spark, root)
    for batch in followed_at_random(cut_within_gaps(batches(*pack.batches), pack, chance), chance):
        if batch.batch_id:
            crashing = CrashingLake(spark, root, chance.randint(1, 11))
            with suppress(Crashed), few_or_many(chance):  # a small batch may have fewer writes
                run(crashing, spark, pack.records, [batch])
        with few_or_many(chance):
            run(Lake(spark, root), spark, pack.records, [batch])
    return differences(pack, expected_rows(pack.records), tables(Lake(spark, root)))


@contextmanager
def few_or_many(chance: random.Random) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if chance.random() < 0.3:
            patch.setattr(log, "FEW_RECORDS", 0)
        if chance.random() < 0.5:
            patch.setattr(schedule, "SMALL_ROWS", 0)
            patch.setattr(schedule, "ROWS_FOR_EACH_NEW", 0)
        yield


def cut_within_gaps(plain: Sequence[Batch], pack: Pack, chance: random.Random) -> list[Batch]:
    """The batches, cut anywhere between the last record of one and the next record: as a log may be, and may end, in
    offsets of transactions that are no record's.
    """
    offsets: dict[tuple[str, int], list[int]] = defaultdict(list)
    for record in pack.records:
        offsets[record.topic, record.partition].append(record.offset)
    made: list[Batch] = []
    for batch in plain:
        cut: list[OffsetRange] = []
        for part, before in zip(batch.ranges, made[-1].ranges if made else batch.ranges, strict=True):
            start = before.end if made else part.start
            following = [offset for offset in offsets[part.topic, part.partition] if offset >= part.end]
            end = chance.randint(max(start, part.end), min(following, default=part.end + 3))
            cut.append(replace(part, start=start, end=end))
        made.append(replace(batch, ranges=tuple(cut)))
    return made


def followed_at_random(plain: Sequence[Batch], chance: random.Random) -> Iterator[Batch]:
    reached = dict.fromkeys(CATCH_UP_GROUPS, 0)
    for batch in plain:
        groups, up_to = tuple(group for group in CATCH_UP_GROUPS if chance.random() < 0.6), batch
        if is_last := batch is plain[-1]:
            groups = CATCH_UP_GROUPS
        elif groups:
            up_to = plain[chance.randint(max(reached[group] for group in groups), batch.batch_id)]
            reached |= dict.fromkeys(groups, up_to.batch_id)
        yield replace(
            batch, catch_up=CatchUp(groups, up_to.end_position, ends_deferral=is_last or chance.random() < 0.2)
        )


def differences(pack: Pack, expected: dict[str, Rows], found: dict[str, Rows]) -> Differences:
    wanted, there = by_case(pack, expected), by_case(pack, found)
    differing: Differences = defaultdict(dict)
    for case, table in wanted.keys() | there.keys():
        rows = there.get((case, table), []), wanted.get((case, table), [])
        if rows[0] != rows[1]:
            differing[case][table] = rows
    return differing


def by_case(pack: Pack, rows: dict[str, Rows]) -> dict[tuple[int, str], Rows]:
    """Each case's rows of each table, in the order of the table."""
    found: dict[tuple[int, str], Rows] = defaultdict(list)
    for table in rows:
        for row in rows[table]:
            found[pack.case(row), table].append(row)
    return found


def smaller(case: Case) -> list[Case]:
    """The case with one entry less, and with one entry in the first batch."""
    without = [
        Case(case.entries[:place] + case.entries[place + 1 :], case.batch_of[:place] + case.batch_of[place + 1 :])
        for place in range(len(case.entries))
        if len(case.entries) > 1
    ]
    return [*without, *([replace(case, batch_of=(0,) * len(case.entries))] if any(case.batch_of) else [])]


def smallest(spark: SparkSession, root: str, all_cases: Sequence[Case], found: Differences) -> str:
    """A failing case from which nothing can be taken away, and what its tables hold and should hold."""
    case, differing = min(
        ((all_cases[number], differing) for number, differing in found.items()), key=lambda pair: len(pair[0].entries)
    )
    for step in range(20):
        candidates = smaller(case)
        still = failing(spark, f"{root}/smaller-{step}", candidates) if candidates else {}
        if not still:
            break
        case, differing = candidates[min(still)], still[min(still)]
    return pformat((case, differing))


@pytest.fixture(params=["folder", pytest.param("store", marks=pytest.mark.long)])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where lakes may be made."""
    if request.param == "folder":
        return str(tmp_path)
    request.getfixturevalue("in_store_session")
    return str(request.getfixturevalue("bucket"))


def test_tables_equal_the_oracle_for_any_log_and_any_cut(spark: SparkSession, root: str) -> None:
    all_cases = drawn(CASES, with_odd_times=True)
    assert len(all_cases) >= 200
    found = failing(spark, f"{root}/lake", all_cases)
    if found:
        example = smallest(spark, root, all_cases, found)
        pytest.fail(f"{len(found)} of {CASES} cases fail. One of them, made smaller: {example}")


def test_cases_reach_what_the_rules_are_about() -> None:
    pack = packed(drawn(CASES, with_odd_times=True), GAPS)
    expected = expected_tables(pack.records)
    assert {row["reason"] for row in expected["silver.quarantine"]} >= {
        *("too_late", "from_the_future", "malformed", "bad_timestamp")
    }
    cut = cut_within_gaps(batches(*pack.batches), pack, random.Random(SEED))
    assert [batch.end_position for batch in cut] != [batch.end_position for batch in batches(*pack.batches)]
    assert sum(part.size for batch in cut for part in batch.ranges) > len(pack.records) + 100
    assert sum(row["duplicate_count"] for row in expected["counts"]) > 100
    assert len(expected["gold.failed_delivery_alerts"]) > 100
    assert Counter(row["window_start"] for row in expected["gold.stop_activity"]).most_common(30)[-1][1] > 10
    assert sum(row["number_of_remaining_stops"] is not None for row in expected["gold.remaining_stops"]) > 10


def test_a_row_too_many_and_a_missing_row_are_both_noticed() -> None:
    pack = packed(drawn(CASES, with_odd_times=True), GAPS)
    expected = expected_rows(pack.records)
    assert not differences(pack, expected, expected)
    for table, rows in expected.items():
        assert rows, table
        for wrong in (rows[1:], rows + rows[:1]):
            assert list(differences(pack, expected, expected | {table: wrong})) == [pack.case(rows[0])], table
