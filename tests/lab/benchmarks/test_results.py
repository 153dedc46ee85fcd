"""What is computed from the runs: medians over what counts, ratios within a round, and what is printed of them."""

from pathlib import Path

import pytest

from lab.benchmarks.__main__ import BEGIN, END, docs_block
from lab.benchmarks.options import CONTENDERS, PARTS, ROOT, Options, chosen
from lab.benchmarks.results import Results, Run, measure, new_results, ratio
from lab.benchmarks.tables import TITLES, drain_table, markdown, table


def drained(contender: str, round_: int, seconds: float, part: str = "drain-warm") -> Run:
    costs = {"cpu_seconds": 2 * seconds, "resident_mib": 512}
    return {"part": part, "contender": contender, "round": round_, "seconds": seconds, **costs}


def fed(contender: str, rate: int, p50: float) -> Run:
    delays = {"p50_seconds": p50, "p95_seconds": 2 * p50, "p99_seconds": 3 * p50}
    return {"part": "freshness", "contender": contender, "round": 1, "rate": rate, "topic": delays, "gold": delays}


def results(*runs: Run) -> Results:
    found = new_results(Options(repeats=3))
    found.log = {"scans": 1_000, "routes": 100, "packages": 90}
    found.runs = list(runs)
    return found


def test_warm_ups_do_not_count() -> None:
    found = results(drained("ours", 0, 99), drained("ours", 1, 3), drained("ours", 2, 1), drained("ours", 3, 2))
    assert measure(found.of("drain-warm", "ours"), "seconds") == 2


def test_nothing_measured_is_no_figure() -> None:
    assert measure([], "seconds") is None
    assert measure([drained("ours", 1, 3)], "gold.p50_seconds") is None
    assert ratio([], [drained("ours", 1, 3)], "seconds") is None


def test_ratio_compares_within_a_round() -> None:
    """A machine that is ten times slower in one round does not change it."""
    ours = [drained("ours", 1, 1), drained("ours", 2, 10), drained("ours", 3, 1)]
    flink = [drained("flink-light", 1, 2), drained("flink-light", 2, 20), drained("flink-light", 3, 2)]
    assert ratio(flink, ours, "seconds") == 2


def test_round_that_one_side_lacks_is_left_out_of_the_ratio() -> None:
    ours = [drained("ours", 1, 1), drained("ours", 2, 1)]
    assert ratio([drained("flink-light", 1, 4)], ours, "seconds") == 4


def test_drain_table_has_speed_cost_and_ratio() -> None:
    cold = drained("flink-light", 1, 9, part="drain-cold")
    found = results(drained("ours", 1, 2), drained("flink-light", 1, 3), cold)
    ours, flink = drain_table(found).splitlines()[2:]
    assert ours == f"| {TITLES['ours']} | - | 2.0 | 500 | 4,000 | 512 | - | 1.00x |"
    assert flink == f"| {TITLES['flink-light']} | 9.0 | 3.0 | 333 | 6,000 | 512 | - | 1.50x |"


def test_report_has_a_section_for_what_was_measured_and_no_other() -> None:
    text = markdown(results(fed("ours", 2_000, 0.5)))
    assert "| 2,000 | 0.50 / 1.00 / 1.50 | 0.50 / 1.00 / 1.50 |" in text
    assert "Full rebuild" not in text
    assert "1,000 scans and 100 routes of 90 packages" in text


def test_table_without_rows_is_nothing() -> None:
    assert table(("a", "b"), []) == ""


def test_results_survive_the_file(tmp_path: Path) -> None:
    found = results(drained("ours", 1, 2))
    found.save(tmp_path / "found.json")
    loaded = Results.load(tmp_path / "found.json")
    assert loaded.runs == found.runs
    assert markdown(loaded) == markdown(found)


def test_docs_have_a_place_for_the_figures() -> None:
    page = (ROOT / "docs" / "benchmarks.md").read_text()
    assert page.index(BEGIN) < page.index(END)
    block = docs_block([results(drained("ours", 1, 2))])
    assert block.startswith(BEGIN)
    assert block.endswith(f"{END}\n")


def test_part_is_chosen_by_its_beginning() -> None:
    assert chosen("drain, start", PARTS) == ("drain-cold", "drain-warm", "start")
    assert chosen("flink,ours", CONTENDERS) == ("ours", "flink-light", "flink-full")


def test_unknown_part_is_refused() -> None:
    with pytest.raises(ValueError, match="no 'dra'"):
        chosen("dra", PARTS)
