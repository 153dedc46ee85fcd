"""What those who show a running stack are told."""

from itertools import chain
from pathlib import Path

import pytest

from pipelines.errors import StackError
from pipelines.processes import airflow
from pipelines.settings import Settings
from pipelines.stack import watch
from pipelines.stack.watch import AirflowIdle, AirflowReady, Watch

URL = "http://127.0.0.1:8080"
PARTS = ("airflow-api-server", "airflow-scheduler")


def test_airflow_that_is_well_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(airflow, "is_healthy", lambda _settings: True)
    (events,) = Watch(Settings(home=tmp_path), PARTS)  # nothing runs: it ends after a round
    assert events[-1] == AirflowReady(URL)


def test_airflow_that_does_not_get_well_is_an_error_that_names_its_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "AIRFLOW_READY_SECONDS", -1.0)
    with pytest.raises(StackError, match=r"Airflow is not well after .* logs are .*airflow-\*"):
        list(Watch(Settings(home=tmp_path), PARTS))


def test_stack_without_airflow_does_not_wait_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(airflow, "is_healthy", None)
    events = chain.from_iterable(Watch(Settings(home=tmp_path), ("broker",)))
    assert not any(isinstance(event, AirflowReady) for event in events)


def test_airflow_that_starts_no_task_is_told_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(airflow, "is_healthy", lambda _settings: True)
    monkeypatch.setattr(airflow, "idle", lambda _settings: "look there")
    of_airflow = Watch(Settings(home=tmp_path), PARTS).airflow_events()

    assert next(of_airflow) == [AirflowReady(URL)]
    assert next(of_airflow) == [AirflowIdle("look there")]
    assert next(of_airflow) == [], "once in a while"
