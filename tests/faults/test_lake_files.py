"""Which damages a case has."""

from tests.faults.lake_files import DAMAGES, OF_A_CASE, drawn

CASE_COUNT = -(-len(DAMAGES) // OF_A_CASE)


def test_cases_of_a_round_have_each_damage_once() -> None:
    for first in (0, 7 * CASE_COUNT):
        found = [drawn(first + number) for number in range(CASE_COUNT)]
        assert sorted(name for names in found for name in names) == sorted(DAMAGES)
        assert max(map(len, found)) == OF_A_CASE


def test_rounds_differ() -> None:
    assert drawn(0) != drawn(CASE_COUNT)
