"""Which damages a case has."""

from lab.faults.campaign import KEPT
from lab.faults.lake_files import CASE_COUNT, DAMAGES, OF_A_CASE, drawn


def test_cases_of_a_round_have_each_damage_once() -> None:
    for first in (0, 7 * CASE_COUNT):
        found = [drawn(first + number) for number in range(CASE_COUNT)]
        assert sorted(name for names in found for name in names) == sorted(DAMAGES)
        assert max(map(len, found)) == OF_A_CASE


def test_cases_that_are_kept_have_the_damage_that_was_found() -> None:
    found = {
        2: "lost data file of ops/batches",
        4: "lost checkpoint of a table",
        7: "lost commit file, its checksum left",
    }
    assert {case.seed for case in KEPT if case.kind == "damaged-files"} == set(found)
    assert all(name in drawn(seed) for seed, name in found.items())


def test_rounds_differ() -> None:
    assert drawn(0) != drawn(CASE_COUNT)
