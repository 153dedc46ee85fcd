"""How Spark's master and workers are started."""

import os
from pathlib import Path
from typing import Any

import pytest

from infra.spark import standalone
from pipelines.java_process import as_properties

SECRET = "hunter2"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the process became, instead: program, arguments and environment."""
    found: list[Any] = []
    monkeypatch.setattr(os, "execve", lambda *told: found.extend(told))
    return found


def test_role_that_there_is_not_is_explained() -> None:
    for arguments in ([], ["driver"]):
        with pytest.raises(SystemExit, match=r"standalone\.py master"):
            standalone.main(arguments)


def test_cluster_without_a_secret_is_none(started: list[Any]) -> None:
    with pytest.raises(SystemExit, match=r"set spark\.authenticate\.secret in PTS_SPARK__SECRET_CONF_FILE"):
        standalone.main(["master", "--host", "10.0.0.1"])
    assert not started


def test_secret_is_in_memory_alone(started: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "secret.json"
    file.write_text(f'{{"spark.authenticate.secret": "{SECRET}"}}')
    file.chmod(0o600)
    monkeypatch.setenv("PTS_SPARK__SECRET_CONF_FILE", str(file))
    monkeypatch.setenv("PTS_SPARK__CONF", '{"spark.worker.timeout": "30"}')
    standalone.main(["worker", "--host", "10.0.0.2", "spark://10.0.0.1:7077"])
    _, arguments, environment = started
    properties = Path(arguments[arguments.index("--properties-file") + 1]).read_text()
    assert as_properties({"spark.authenticate.secret": SECRET}) in properties
    assert properties.rindex("spark.worker.timeout=30") > properties.index("spark.worker.timeout "), "the last counts"
    assert SECRET not in " ".join([*arguments, *environment.values()])
    assert not [name for name in environment if name.startswith("PTS_")], "executors inherit them"
    assert arguments[-3:] == ["--host", "10.0.0.2", "spark://10.0.0.1:7077"]
