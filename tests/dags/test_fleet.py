"""What every DAG must be, so that a person who is woken by one finds it like all others."""

import ast
import json
import subprocess
import sys
from datetime import timedelta
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.standard.operators.hitl import ApprovalOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG, Asset
from airflow.sdk.definitions.mappedoperator import MappedOperator
from airflow.sdk.definitions.param import ParamsDict

from dags import fleet
from dags.pts_operator import PtsOperator
from pipelines.commands import Backfill, ReplayVerify
from pipelines.maintenance.backfill import WINDOW_FLOWS
from pipelines.processes.airflow import DAGS
from pipelines.tables import WINDOW_TABLES

pytestmark = pytest.mark.slow

HELPERS = (DAGS / ".airflowignore").read_text().split()
FILES = sorted(path for path in DAGS.glob("*.py") if path.name not in HELPERS)
SECTIONS = ("**Purpose.**", "**Owner.**", "**Idempotent.**", "**On failure.**")
MOST_LINES = 80
MOST_PARSE_SECONDS = 3.0
"""Of the processor, once Airflow itself is imported: whatever else the machine does."""

ENGINES = {"pyspark", "delta", "py4j", "duckdb", "deltalake", "pyarrow", "pandas", "numpy", "confluent_kafka"}
OUTSIDE = ("socket.connect", "socket.getaddrinfo", "socket.bind", "subprocess.Popen", "os.system", "os.exec", "os.fork")

PARSE = """
import json, sys, time
import airflow.sdk, airflow.sdk.bases.operator, pydantic, pydantic_settings  # theirs, whatever they do
import airflow.providers.standard.operators.hitl, airflow.providers.standard.operators.trigger_dagrun
airflow.sdk.DAG, airflow.sdk.Asset, airflow.sdk.Param, airflow.sdk.CronDataIntervalTimetable
before, done = set(sys.modules), []

def noted(event, arguments):
    is_written = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wxa+")
    if event in OUTSIDE or (is_written and not str(arguments[0]).endswith(".pyc")):
        done.append([event, str(arguments[0])])

sys.addaudithook(noted)
for file in FILES:
    began, done[:] = time.process_time(), []
    exec(compile(open(file).read(), file, "exec"), {"__name__": "parsed", "__doc__": "doc"})
    seconds = time.process_time() - began
    print(json.dumps({"modules": sorted(set(sys.modules) - before), "done": done, "seconds": seconds}))
"""


@cache
def parsed_fleet() -> dict[Path, dict[str, Any]]:
    return parsed(*FILES)


def parsed(*files: Path) -> dict[Path, dict[str, Any]]:
    """What a process that only parses the files imports for each more than Airflow itself, and does to the world."""
    script = f"OUTSIDE = {OUTSIDE!r}; FILES = {[str(file) for file in files]!r}\n{PARSE}"
    run = subprocess.run(
        [sys.executable, "-B", "-P", "-c", script], capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode == 0, run.stderr
    told = map(json.loads, run.stdout.splitlines()[-len(files) :])
    return dict(zip(files, told, strict=True))


def dags(file: Path) -> list[DAG]:
    module = import_module(f"dags.{file.stem}")
    return [value for value in vars(module).values() if isinstance(value, DAG)]


def is_start_of_another_dag(task: Any) -> bool:
    return isinstance(task, MappedOperator) and task.operator_class is TriggerDagRunOperator


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_file_is_one_dag_of_its_name_and_short(file: Path) -> None:
    (dag,) = dags(file)

    assert dag.dag_id == file.stem
    assert len(file.read_text().splitlines()) <= MOST_LINES


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_page_says_purpose_owner_idempotence_and_what_to_do_on_failure(file: Path) -> None:
    (dag,) = dags(file)
    said = dag.doc_md or ""

    assert said == ast.get_docstring(ast.parse(file.read_text()), clean=False)
    assert [section for section in SECTIONS if section not in said] == []
    assert dag.description
    assert dag.tags


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_runs_do_not_pile_up_and_every_task_ends_retries_and_has_an_owner(file: Path) -> None:
    (dag,) = dags(file)

    assert dag.max_active_runs == 1
    assert not dag.catchup
    assert dag.tasks
    for task in dag.tasks:
        assert task.owner == "tracking"
        assert task.doc_md
        assert task.on_failure_callback == [fleet.alert]
        if isinstance(task, ApprovalOperator):
            assert task.response_timeout, "who is asked may be away"
            continue
        if not is_start_of_another_dag(task):
            assert isinstance(task, PtsOperator), "each task is one pts command"
        assert task.retries
        assert task.retries >= 2
        assert task.retry_delay >= timedelta(minutes=1)
        assert task.execution_timeout
        assert task.max_active_tis_per_dag == 1
        assert all(isinstance(asset, Asset) for asset in (*task.inlets, *task.outlets))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_params_are_typed_and_described_and_fit_the_command(file: Path) -> None:
    (dag,) = dags(file)
    assert isinstance(dag.params, ParamsDict)
    for name in dag.params:
        param = dag.params.get_param(name)
        assert param.schema.get("type"), name
        assert param.description, name
    for task in dag.tasks:
        if not isinstance(task, PtsOperator):
            continue
        assert set(task.parameters) <= set(task.command.model_fields)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_parsing_imports_no_engine_and_does_nothing(file: Path) -> None:
    found = parsed_fleet()[file]

    assert {name.partition(".")[0] for name in found["modules"]} & ENGINES == set()
    assert found["done"] == []
    assert found["seconds"] < MOST_PARSE_SECONDS


def test_parsing_that_imports_an_engine_or_does_something_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "a_dag.py"
    file.write_text(f"import duckdb, subprocess\nsubprocess.run(['true'])\nopen('{tmp_path}/x', 'w')\n")

    found = parsed(file)[file]

    assert "duckdb" in found["modules"]
    assert ["open", f"{tmp_path}/x"] in found["done"]
    assert "subprocess.Popen" in {event for event, _ in found["done"]}


def test_backfilled_tables_are_all_that_have_windows() -> None:
    assert {flow.into.name for flow in WINDOW_FLOWS} == {table.name for table in WINDOW_TABLES}


def test_tasks_run_the_commands_that_their_names_say() -> None:
    commands = {
        task.task_id: task.command
        for file in FILES
        for dag in dags(file)
        for task in dag.tasks
        if isinstance(task, PtsOperator)
    }

    assert commands["backfill_windows"] is Backfill
    assert commands["verify_log"] is ReplayVerify
