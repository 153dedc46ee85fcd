"""Fields are sealed, read and forgotten, as the page says."""

import os
from pathlib import Path

import pytest

from pipelines.live import topics
from tests.brokers import sealing_log
from tests.docs.conftest import Documented
from tests.integration.pts_process import settings_of
from tests.integration.topic_deletion import delete_topics

pytestmark = [pytest.mark.long, pytest.mark.integration]


def test_fields_are_sealed_read_and_forgotten_as_the_page_says(
    documented: Documented, broker: str, tmp_path: Path
) -> None:
    with sealing_log(broker, tmp_path / "var") as settings:
        delete_topics(broker, *(topic.name for topic in topics.wanted_topics(settings)))
        documented.environment |= settings_of(settings, "lake")
        assert "Created" in documented.run("export PTS_SEAL__ENABLED=true")
        clear = documented.run(".venv/bin/pts sql")
        assert "[sealed]" not in clear
        assert "Package 42" in clear
        documented.run("chgrp", {"GROUP": str(os.getgid())})
        assert (tmp_path / "var/seal/keys.sqlite").stat().st_mode & 0o777 == 0o640
        said = documented.run(".venv/bin/pts erase 42")
    assert "Its key is destroyed" in said
    assert said.count("[erased]") == 1
