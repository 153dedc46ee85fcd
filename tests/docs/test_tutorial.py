"""The tutorial, block by block, in a clone; its demo is that of the README."""

from pathlib import Path

import pytest

from pipelines.errors import UndeclaredDifference, Violation
from tests.docs.clone import enter, published, stopped_at_the_end, watch_demo
from tests.docs.conftest import Documented

pytestmark = [pytest.mark.long, pytest.mark.integration]


def test_tutorial_goes_from_a_clone_to_a_corrected_bug(documented: Documented, tmp_path: Path) -> None:
    demo_of_the_readme, _ = documented.take("make demo").split("#")
    documented.run("git clone", {"URL": str(published(tmp_path / "published"))})
    enter(documented, tmp_path / "superfast-pts")
    with stopped_at_the_end(documented):
        assert "Nothing to be done" in documented.run("make setup")
        assert documented.left[0].text.strip() == demo_of_the_readme.strip()
        assert " stops remain" in watch_demo(documented)
        assert "Package 42" in documented.run("# How many packages")
        assert "2 * count(*)" in documented.run("sed -i")
        documented.run(".venv/bin/pts up broker")
        documented.run(".venv/bin/pts sql")
        assert "carrier_throughput" in documented.run(".venv/bin/pts verify", code=Violation.exit_code)
        documented.run("git checkout")
        assert "scan_count" in documented.run(".venv/bin/pts replay compare", code=UndeclaredDifference.exit_code)
        assert "checks held" in documented.run(".venv/bin/pts replay compare")
        documented.run(".venv/bin/pts down")
