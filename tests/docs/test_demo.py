"""`make demo`, as the README has it."""

from pathlib import Path

import pytest

from tests.docs.clone import enter, published, stopped_at_the_end, watch_demo
from tests.docs.conftest import Documented

pytestmark = [pytest.mark.long, pytest.mark.integration]


def test_demo_of_the_readme_moves_packages_and_stops_on_ctrl_c(documented: Documented, tmp_path: Path) -> None:
    enter(documented, published(tmp_path / "clone"))
    with stopped_at_the_end(documented):
        assert " stops remain" in watch_demo(documented)
    assert (documented.folder / "var" / "lake" / "gold" / "remaining_stops").is_dir()
