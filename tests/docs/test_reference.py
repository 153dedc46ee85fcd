"""Pages of the documentation that are derived from the code."""

import pytest

from infra.decisions import decisions_page
from pipelines.cli.docs import PAGES
from pipelines.errors import PtsError
from tests.docs.pages import ROOT


@pytest.mark.parametrize("name", PAGES)
def test_page_of_the_reference_is_current(name: str) -> None:
    """`make docs` makes it so."""
    assert (ROOT / "docs" / "reference" / f"{name}.md").read_text(encoding="utf-8") == PAGES[name]()


def test_page_of_decisions_is_current() -> None:
    """`make docs` makes it so."""
    assert (ROOT / "docs" / "adr" / "index.md").read_text(encoding="utf-8") == decisions_page()


def test_reference_has_commands_options_and_defaults() -> None:
    page = PAGES["cli"]()
    assert "## pts replay compare\n" in page
    assert "| `--rate` | `2000` | Records per second; 0: as fast as possible. |" in page
    assert "One of `duckdb`, `spark`." in page


def test_no_two_errors_have_one_exit_code() -> None:
    codes = [kind.exit_code for kind in PtsError.__subclasses__()]
    assert len(set(codes)) == len(codes)
