"""The decoders agree with the oracle on inputs that nobody thought of, and the fuzz of them can fail."""

import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import CodeType, FrameType, ModuleType
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lab.faults.fuzz import Outcome, fuzz, portions, smallest_examples
from lab.faults.judging import judged_by_all, oracle_verdict
from lab.faults.kept import KEPT, MOMENT_MS
from lab.faults.records import LANES, Lane, lane, record
from pipelines.contracts import judge as offline
from pipelines.contracts.examples import ACCEPTED, WIRE_FORMATS
from pipelines.contracts.topics import SHIP_EVENTS
from pipelines.transforms import judge as rules
from pipelines.wire_format import WireFormat
from tests.oracle import csv_record, decode, json_object
from tests.oracle.records import LogRecord

COUNT = 10_000
SEED = 20261122
PARSERS = (csv_record, json_object, decode)


def test_pipeline_and_oracle_agree_on_every_input(spark: SparkSession) -> None:
    outcome = fuzz(spark, SEED, COUNT, lambda _: None)
    assert list(smallest_examples(spark, outcome, SEED)) == []
    assert outcome.missing() == []
    assert outcome.counts.total() == COUNT


@pytest.mark.parametrize("wire_format", WIRE_FORMATS)
def test_they_agree_where_a_time_needs_an_offset(spark: SparkSession, wire_format: WireFormat) -> None:
    of = Lane(SHIP_EVENTS, wire_format)
    records = [record(SEED, number) for number in range(COUNT // 4) if lane(number) == of]
    judged, strictly = (list(judged_by_all(spark, records, each)) for each in (of, replace(of, needs_offset=True)))
    assert not any(each.differs for each in strictly)
    changes = {(each.found.name, now.found.name) for each, now in zip(judged, strictly, strict=True)}
    assert (ACCEPTED, "bad_type") in changes
    assert {now for before, now in changes if before != now} == {"bad_type"}


def test_inputs_on_which_they_differed_get_the_verdict_of_the_contract(spark: SparkSession) -> None:
    records = [LogRecord("ship-events", 0, offset, MOMENT_MS, b"42", kept.value) for offset, kept in enumerate(KEPT)]
    expected = {kept.name: (kept.verdict, kept.verdict) for kept in KEPT}
    judged = judged_by_all(spark, records, Lane(SHIP_EVENTS, "json"))
    verdicts = ((each.found.name, each.expected.name) for each in judged)
    assert dict(zip((kept.name for kept in KEPT), verdicts, strict=True)) == expected
    assert not any(each.differs for each in judged)


@pytest.fixture
def integers_with_spaces(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A rule of the pipeline, broken: white space around a number is skipped."""
    rules.steps.cache_clear()
    monkeypatch.setattr(rules, "WHOLE_INTEGER", r"\A\s*[+-]?[0-9]+\s*\z")
    yield
    monkeypatch.undo()
    rules.steps.cache_clear()


@pytest.mark.usefixtures("integers_with_spaces")
def test_broken_rule_of_the_pipeline_is_noticed_in_every_lane_and_shown_by_a_small_example(spark: SparkSession) -> None:
    outcome = fuzz(spark, SEED, COUNT // 4, lambda _: None)
    assert set(outcome.smallest) == set(LANES)
    outcome.smallest = {LANES[0]: outcome.smallest[LANES[0]]}
    (example,) = smallest_examples(spark, outcome, SEED)
    assert example.endswith(f"--seed {SEED} --only {outcome.smallest[LANES[0]].record.offset}")
    (value,) = re.findall(r"value=(b.*?),\n", example)
    assert len(value) < 70


def test_wrong_oracle_is_noticed_and_an_accepted_record_is_compared_column_by_column(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(decode, "_DAYS_FROM_YEAR_0_TO_1970", 719_527)
    outcome = fuzz(spark, SEED, 400, lambda _: None)
    assert outcome.differing > 0
    assert {of.topic.name for of in outcome.smallest} == {"ship-events"}


def test_pts_judge_that_tells_another_detail_is_noticed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offline, "SHOWN", 1)
    assert set(fuzz(spark, SEED, 400, lambda _: None).smallest) == set(LANES)


def test_run_in_which_a_verdict_never_occurred_says_so() -> None:
    missing = Outcome().missing()
    assert (("ship-events", "csv"), "too_late") in missing
    assert (("ship-routes", "json"), "accepted") in missing
    assert (("ship-routes", "json"), "too_late") not in missing
    assert len(missing) == 2 * 11 + 2 * 9


def test_portions_are_of_one_lane_each_and_hold_every_number_once() -> None:
    for count in (1, 7, 8, 9, 1_000_001):
        found = list(portions(count))
        assert sum(map(len, found)) == count
        assert all({lane(numbers[0]), lane(numbers[-1])} == {lane(numbers[0])} for numbers in found)
        assert max(numbers[-1] for numbers in found) == count - 1


def test_records_are_a_function_of_seed_and_number() -> None:
    first = [record(SEED, number) for number in range(200)]
    assert first == [record(SEED, number) for number in range(200)]
    assert first != [record(SEED + 1, number) for number in range(200)]


@pytest.mark.slow
def test_every_line_of_the_oracles_parsers_is_reached() -> None:
    """What guiding by coverage would do; without it all is reached soon, and more records reach no more."""
    reached: set[tuple[str, int]] = set()

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if event == "line":
            reached.add((frame.f_code.co_filename, frame.f_lineno))
        return trace if frame.f_code.co_filename in names else None

    names = {module.__file__ for module in PARSERS}
    records = [record(SEED, number) for number in range(8_000)]
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for each in records:
            oracle_verdict(each, replace(lane(each.offset), needs_offset=True))
    finally:
        sys.settrace(before)
    for module in PARSERS:
        assert {line for line in _lines_of_functions(module) if (module.__file__, line) not in reached} == set()


def _lines_of_functions(module: ModuleType) -> Iterator[int]:
    source = inspect.getsource(module)
    for constant in compile(source, str(module.__file__), "exec").co_consts:
        if (
            isinstance(constant, CodeType)
            and hasattr(module, constant.co_name)
            and "class " + constant.co_name not in source
        ):
            yield from (line for *_, line in constant.co_lines() if line and line != constant.co_firstlineno)
