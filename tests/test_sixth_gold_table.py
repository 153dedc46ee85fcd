"""A gold table more takes four edits, which CONTRIBUTING names: they are made here, and no other."""

import ast
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

from pipelines import graph
from pipelines.engine.runner import LakeRunner
from pipelines.graph import NEW_SCANS, Flow
from pipelines.live.planner import live_runner
from pipelines.settings import Settings
from pipelines.tables import Table
from tests.batches import batches, new_lake, run, write_checkpoint
from tests.frames import plain_rows
from tests.oracle.makers import scan

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]
NAME = "gold.carrier_scans"
RECORD, DEFINITION, LINE, EXPECTED = (
    re.sub(r"(?m)^   ", "", block)
    for block in re.findall(
        r"```python\n(.*?)   ```\n",
        (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Add a gold table")[2],
        re.DOTALL,
    )[:4]
)
FOUND = """
import json
from expectations.suites import SUITES
from pipelines import graph, tables
from pipelines.maintenance.backfill import WINDOW_FLOWS
from pipelines.tables.docs import DOCUMENTED, tables_page
from tests.comparison import COMPARED
from tests.expectations.defects import TWO_OF_A_KEY
from tests.oracle.tables import expected_tables

print(json.dumps({
    "tables": [table.name for table in tables.TABLES],
    "ledger": [table.name for table in graph.tables_of()],
    "flows": [flow.into.name for flow in graph.FLOWS],
    "backfill": [flow.into.name for flow in WINDOW_FLOWS],
    "dags": [table.name for table in tables.WINDOW_TABLES],
    "expectations": [suite.table.name for suite in SUITES if suite.truths[0].name == "one_row_per_key"],
    "defects": list(TWO_OF_A_KEY),
    "docs": [table.name for table in DOCUMENTED if f"## {table.name}" in tables_page()],
    "compared": list(COMPARED),
    "oracle": list(expected_tables([])),
}))
"""
CONCERNED = ("tests/test_graph.py", "tests/tables", "tests/oracle/test_tables.py")
"""Tests that look at every table: those without Spark."""


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with the four edits, and with the pages made that `make docs` makes."""
    root = tmp_path_factory.mktemp("edited")
    for part in ("pipelines", "expectations", "dags", "tests", "lab", "docs"):
        shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__", "images"))
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "pipelines/tables/gold_carrier_scans.py").write_text(RECORD)
    (root / "pipelines/transforms/carrier_scans.py").write_text(DEFINITION)
    edit(
        root / "pipelines/graph.py",
        lambda text: text.replace(
            "\n\n@dataclass",
            "from pipelines.tables.gold_carrier_scans import GOLD_CARRIER_SCANS\n"
            "from pipelines.transforms.carrier_scans import CARRIER_SCANS\n\n\n@dataclass",
            1,
        ).replace("\n)\n\nDEFERRED", f"\n    {LINE})\n\nDEFERRED", 1),
    )
    edit(root / "tests/oracle/gold.py", lambda text: f"{text}\n\n{EXPECTED}")
    (root / "docs/tables.md").write_text(python(root, "-m", "pipelines.tables.docs"))
    return root


def edit(file: Path, change: Callable[[str], str]) -> None:
    before = file.read_text()
    file.write_text(change(before))
    assert file.read_text() != before


def python(root: Path, *arguments: str) -> str:
    found = subprocess.run([sys.executable, *arguments], cwd=root, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def test_table_is_wherever_a_table_is(edited: Path) -> None:
    found = json.loads(python(edited, "-c", FOUND))
    assert [place for place, names in found.items() if NAME not in names] == []


def test_no_test_of_all_tables_wants_another_edit(edited: Path) -> None:
    chosen = "not spark and not integration and not long"
    told = python(edited, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", chosen, *CONCERNED)
    assert "passed" in told


def test_table_without_expected_rows_fails(edited: Path, tmp_path: Path) -> None:
    """The fourth edit cannot be forgotten."""
    root = Path(shutil.copytree(edited, tmp_path / "edited"))
    edit(root / "tests/oracle/gold.py", lambda text: text.replace(EXPECTED, ""))
    with pytest.raises(AssertionError, match=f"KeyError: '{NAME}'"):
        python(root, "-c", "from tests.comparison import expected_rows; expected_rows([])")


def defined(source: str, name: str) -> object:
    module = ModuleType("edit")
    exec(compile(ast.parse(source), "CONTRIBUTING.md", "exec"), vars(module))
    return vars(module)[name]


TABLE = defined(RECORD, "GOLD_CARRIER_SCANS")
assert isinstance(TABLE, Table)
FLOW = Flow("carrier_scans", TABLE, str(defined(DEFINITION, "CARRIER_SCANS")), {"scans": NEW_SCANS}, "add", "carriers")
RECORDS = (
    scan(1, "10:00", carrier="UPS", offset=0),
    scan(1, "10:00", carrier="UPS", offset=1),
    scan(2, "10:05", carrier="", offset=2),
    scan(2, "10:10", carrier="UPS", offset=3),
    scan(3, "10:20", carrier="DHL", offset=4),
)
FIRST, SECOND = batches(RECORDS[:3], RECORDS[3:])
SILVER_FLOWS = tuple(flow for flow in graph.FLOWS if not flow.is_fold)
FLOWS = (*SILVER_FLOWS, FLOW)


def test_a_new_gold_table_holds_the_whole_log_from_its_first_start_on(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "lake"
    run(new_lake(spark, str(root)), spark, RECORDS, [FIRST], flows=SILVER_FLOWS)
    write_checkpoint(root, [FIRST])

    runner = live_runner(spark, Settings(home=tmp_path, lake=str(root)), FLOWS)
    runner.prepare()
    assert counts(runner) == {"UPS": 1, None: 1}
    assert runner.last is not None
    assert (runner.last.batch_id, runner.last.tables[NAME].position) == (1, 1)

    runner.prepare()
    assert runner.last.batch_id == 1, "the second start has nothing to compute again"
    run(runner.lake, spark, RECORDS, [replace(SECOND, batch_id=2)], flows=FLOWS)
    assert counts(runner) == {"UPS": 2, None: 1, "DHL": 1}


def counts(runner: LakeRunner) -> dict[str | None, int]:
    return {row["carrier_code"]: row["scan_count"] for row in plain_rows(runner.lake.read(FLOW.into))}
