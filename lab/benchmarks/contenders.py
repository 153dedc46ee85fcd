"""Who takes part in a drain: how its process is started, how a run is asked for, and what the run wrote."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
from deltalake import DeltaTable

from lab.benchmarks import sample
from lab.benchmarks.driving import Command
from lab.benchmarks.flink import peer as flink
from lab.benchmarks.pathway import peer as pathway
from pipelines.io.duckdb.reader import LakeReader
from pipelines.java_runtime import JARS, JAVA_HOME
from pipelines.settings import Kafka, Settings
from pipelines.settings_variables import as_variables

TUTORIAL_DRIVER_MEMORY = "2g"
"""As the product's."""


@dataclass(frozen=True)
class Drain:
    """One run: what to read, and a new folder for what is written. The dump holds the bytes of the log in a file."""

    servers: str
    dump: str
    folder: str

    @property
    def path(self) -> Path:
        return Path(self.folder)


@dataclass(frozen=True)
class Contender:
    """One way from the log to tables.

    Attributes:
        name: Its name in results.
        driver: The process that does a drain per request; its folder is for what outlives a run.
        request: The line that asks the driver for a drain.
        rows: Rows that a drain left, by table.
        cold: A process that does one drain and ends; None: the driver, asked once.
        check: Raises `RunFailed` when the tables of a drain are not right.
    """

    name: str
    driver: Callable[[Drain], Command]
    request: Callable[[Drain], str]
    rows: Callable[[Drain], dict[str, int]]
    cold: Callable[[Drain], Command] | None = None
    check: Callable[[Drain], object] | None = None


def as_json(drain: Drain) -> str:
    return json.dumps(asdict(drain))


def product_variables(drain: Drain) -> dict[str, str]:
    """The settings of the product, for a lake in the drain's folder."""
    return as_variables(Settings(home=drain.path, kafka=Kafka(bootstrap_servers=drain.servers)))


def pts(drain: Drain, *arguments: str, **variables: str) -> Command:
    return Command((sys.executable, "-m", "pipelines.cli", *arguments), product_variables(drain) | variables)


def module(name: str, environment: dict[str, str]) -> Command:
    return Command((sys.executable, "-m", f"lab.benchmarks.drivers.{name}"), environment)


def plain_spark(_drain: Drain) -> dict[str, str]:
    """What `pyspark` needs to start with the jars of the product and no setting of it."""
    jars = ",".join(map(str, sorted((JARS / "spark").glob("*.jar"))))
    return {
        "JAVA_HOME": str(JAVA_HOME),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": f"--jars {jars} --driver-memory {TUTORIAL_DRIVER_MEMORY} pyspark-shell",
    }


def lake_rows(drain: Drain) -> dict[str, int]:
    reader = LakeReader(f"{drain.folder}/lake")
    return {name: _count(reader.open(name)) for name in reader.table_names()}


def delta_rows(drain: Drain) -> dict[str, int]:
    """Of the Delta tables right below the folder."""
    return {log.parent.name: _count(DeltaTable(log.parent)) for log in sorted(drain.path.glob("*/_delta_log"))}


def parquet_rows(drain: Drain) -> dict[str, int]:
    """Of the files `<table>.parquet` and of the folders of files without a name's end, as Flink writes them."""
    found = {path.stem: _scalar(f"SELECT count(*) FROM '{path}'") for path in sorted(drain.path.glob("*.parquet"))}
    for folder in sorted(path for path in drain.path.iterdir() if path.is_dir()):
        if any(folder.glob("part-*")):
            found[folder.name] = _scalar(f"SELECT count(*) FROM read_parquet('{folder}/part-*')")
    return found


def _count(table: DeltaTable) -> int:
    return sum(map(_scalar_of, table.get_add_actions(flatten=True)["num_records"].to_pylist()))


def _scalar_of(value: int | None) -> int:
    return value or 0


def _scalar(query: str) -> int:
    row = duckdb.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def flink_contender(script: flink.Script) -> Contender:
    return Contender(
        f"flink-{script}",
        driver=lambda drain: flink.command(script, drain.path),
        request=lambda drain: f"await {flink.script(script, drain.servers, drain.path)}",
        rows=lambda drain: parquet_rows(drain) | {"latest_report": flink.reported(drain.servers, drain.path)},
    )


CONTENDERS = {
    contender.name: contender
    for contender in (
        Contender(
            "ours",
            driver=lambda drain: module("ours", product_variables(drain)),
            request=as_json,
            rows=lake_rows,
            cold=lambda drain: pts(drain, "stream", "--drain"),
            check=lambda drain: sample.check(sample.expected(Path(drain.dump)), f"{drain.folder}/lake"),
        ),
        Contender(
            "tutorial",
            driver=lambda drain: module("tutorial", plain_spark(drain)),
            request=as_json,
            rows=delta_rows,
        ),
        flink_contender("light"),
        flink_contender("full"),
        Contender(
            "spark-noop",
            driver=lambda drain: module("spark_noop", product_variables(drain)),
            request=as_json,
            rows=lambda _: {},
        ),
        Contender(
            "pathway",
            driver=lambda _: pathway.command(),
            request=as_json,
            rows=lambda drain: pathway.rows(drain.path),
        ),
        Contender(
            "plain-loop",
            driver=lambda _: module("plain_loop", {}),
            request=as_json,
            rows=delta_rows,
        ),
        Contender(
            "duckdb",
            driver=lambda _: module("duckdb_tables", {}),
            request=as_json,
            rows=parquet_rows,
        ),
    )
}
