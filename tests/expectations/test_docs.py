"""The page of expectations."""

from pathlib import Path

from expectations.docs import expectations_page
from expectations.suites import SUITES

ROOT = Path(__file__).parents[2]


def test_page_of_expectations_is_current() -> None:
    """`python -m expectations.docs > docs/expectations.md` makes it so."""
    assert (ROOT / "docs" / "expectations.md").read_text(encoding="utf-8") == expectations_page()


def test_every_expectation_has_a_name_of_its_own_and_says_what_it_catches_and_what_to_do() -> None:
    for suite in SUITES:
        assert len({truth.name for truth in suite.truths}) == len(suite.truths)
        assert all(
            text.endswith(".") for truth in suite.truths for text in (truth.meaning, truth.catches, truth.remedy)
        )
