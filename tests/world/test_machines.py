"""Machines as they are: another Spark's environment, a /tmp that takes nothing, a user without a name, any folder."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipelines import commands
from pipelines.processes.airflow import PROJECT
from pipelines.settings import Settings, Spark
from pipelines.settings_variables import as_variables
from pipelines.stack import simulate
from tests.comparison import assert_lake_equals_log
from tests.foreign import foreign_variables
from tests.integration.log_reader import read_log
from tests.integration.pts_process import SHORT_LIVED

pytestmark = pytest.mark.long

SECONDS = 300
MOUNT = "mount -t tmpfs -o ro,noexec none /tmp" if Path("/tmp") not in PROJECT.parents else "true"
IN_A_NAMELESS_USERS_MACHINE = (
    *("unshare", "--mount", "--", "sh", "-c", f'{MOUNT} && exec "$@"', "sh"),
    *("unshare", "--user", "--map-user=54321", "--map-group=54321", "--"),
)
"""A mount and a user namespace: /tmp is read-only and allows no code, unless this project is there, and the user has no
line in /etc/passwd."""


@pytest.fixture
def foreign(tmp_path: Path) -> dict[str, str]:
    return foreign_variables(tmp_path)


def pts(
    settings: Settings, more: Mapping[str, str], *arguments: str, within: tuple[str, ...] = (), encoding: str = "utf-8"
) -> str:
    """What the command says; it must succeed."""
    environment = {**os.environ, **as_variables(settings), **more}
    for name in ("HOME", "USER", "LOGNAME"):
        environment.pop(name, None)
    command = [*within, str(Path(sys.prefix) / "bin" / "pts"), *arguments]
    done = subprocess.run(
        command, cwd=PROJECT, env=environment, capture_output=True, encoding=encoding, check=False, timeout=SECONDS
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout + done.stderr


def test_job_and_check_run_on_what_the_set_up_installed(new_log: Settings, foreign: dict[str, str]) -> None:
    if subprocess.run([*IN_A_NAMELESS_USERS_MACHINE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine allows no namespaces")
    place = PROJECT / "var" / f"test-{os.getpid()} (1) & 'größer'"
    settings = new_log.model_copy(update={"home": place, "spark": Spark(conf=SHORT_LIVED)})
    simulate.run(commands.Simulate(packages=30, count=500, rate=0), settings)
    place.mkdir(parents=True)
    try:
        said = pts(settings, foreign, "stream", "--drain", within=IN_A_NAMELESS_USERS_MACHINE)
        assert "SPARK_HOME, SPARK_CONF_DIR, JAVA_TOOL_OPTIONS, _JAVA_OPTIONS of the environment is left aside" in said
        assert_lake_equals_log(settings.lake_root, read_log(settings.bootstrap_servers))
        assert "met" in pts(settings, foreign, "check", within=IN_A_NAMELESS_USERS_MACHINE)
        assert "\n500" not in pts(settings, foreign, "sql", "SELECT count(*) FROM silver.ship_events")
    finally:
        shutil.rmtree(place)


def test_terminal_that_lacks_a_character_shows_another(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / "größer 📦")
    said = pts(settings, {"PYTHONIOENCODING": "iso8859-1"}, "status", encoding="iso8859-1")
    assert "größer ?" in said
