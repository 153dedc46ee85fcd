"""The DAGs in an Airflow that `pts` does not configure."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.conftest import Documented
from tests.docs.pages import ROOT
from tests.healthy_lake import healthy_lake

pytestmark = [pytest.mark.long, pytest.mark.integration]

UNKNOWN = """
import sys

class Unknown:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "delta", "deltalake", "duckdb", "confluent_kafka", "obstore"):
            raise ModuleNotFoundError(f"{name} is not in Airflow's environment", name=name)

if sys.argv[0].endswith("airflow"):
    sys.meta_path.insert(0, Unknown())
"""
"""Python reads it at its start, where it is the module `sitecustomize`: Airflow's has none of our engines."""


def test_dags_run_in_an_airflow_of_ones_own_as_the_page_says(documented: Documented, tmp_path: Path) -> None:
    healthy_lake().write(tmp_path / "home" / "lake")
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "sitecustomize.py").write_text(UNKNOWN)
    documented.environment |= {
        "AIRFLOW_HOME": str(tmp_path / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PTS_HOME": str(tmp_path / "home"),
        "PYTHONPATH": str(tmp_path / "without"),
        "CLONE": str(ROOT),
    }
    subprocess.run(["airflow", "db", "migrate"], env=documented.environment, check=True, capture_output=True)
    said = documented.run("export PYTHONPATH")
    assert "backfill_windows" in said
    assert "DagRunState.SUCCESS" in said or "state=success" in said, said[-3000:]
