"""Airflow from the command line, as the page says."""

import subprocess

import pytest

from pipelines.settings import Airflow, Settings
from pipelines.settings_variables import as_variables
from tests.docs.conftest import Documented
from tests.integration.pts_process import wait_until
from tests.ports import unused_ports

pytestmark = [pytest.mark.long, pytest.mark.integration]


def listed_dags(documented: Documented) -> str:
    """What `pts airflow dags list` says."""
    command = [".venv/bin/pts", "airflow", "dags", "list"]
    done = subprocess.run(
        command, cwd=documented.folder, env=documented.environment, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_airflow_is_operated_as_the_page_says(documented: Documented, stack_settings: Settings) -> None:
    settings = stack_settings.model_copy(update={"airflow": Airflow(port=unused_ports()[0])})
    documented.environment |= as_variables(settings)
    assert "airflow-scheduler" in documented.run(".venv/bin/pts up airflow")
    wait_until(
        lambda: "backfill_windows" in listed_dags(documented), settings.home / "logs" / "airflow-dag-processor.log"
    )
    assert "backfill_windows" in documented.run(".venv/bin/pts airflow dags list")
