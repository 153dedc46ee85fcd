"""A clone that is brought up to date, as the page says. What becomes of lakes: `tests/integration/test_upgrade.py`."""

import subprocess
from pathlib import Path

import pytest

from tests.docs.clone import enter, published, stopped_at_the_end
from tests.docs.conftest import Documented

pytestmark = [pytest.mark.long, pytest.mark.integration]


def test_clone_is_brought_up_to_date_as_the_page_says(documented: Documented, tmp_path: Path) -> None:
    origin = published(tmp_path / "published")
    subprocess.run(["git", "clone", "-q", origin, tmp_path / "clone"], check=True)
    enter(documented, tmp_path / "clone")
    with stopped_at_the_end(documented):
        assert "Running." in documented.run(".venv/bin/pts down")
