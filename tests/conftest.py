"""What all tests share: one Spark session, one broker, and marks that follow from what a test needs."""

import atexit
import gc
import os
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from pyspark.sql import SparkSession

from pipelines.engine import schedule
from pipelines.io.spark import spark_job
from pipelines.session import S3, close_session, open_session, spark_jars
from pipelines.settings import Settings, Spark, Storage
from pipelines.stack import stack
from tests import stores
from tests.brokers import embedded, empty_log
from tests.calling import Call, Ended, Pts
from tests.integration.pts_process import SHORT_LIVED

if TYPE_CHECKING:
    from playwright.sync_api import Browser

if "PYTEST_XDIST_WORKER" in os.environ:
    # A worker's main module is no file. PySpark takes that for a doctest, and ends the process where Great Expectations
    # asks for Spark Connect.
    vars(sys.modules["__main__"]).setdefault("__file__", __file__)

hypothesis.settings.register_profile("untimed", deadline=None)  # the machine is shared, and may be busy
hypothesis.settings.load_profile("untimed")

INTEGRATION = "integration"
"""The folder of most tests that need a broker."""

BROKERS = {"broker", "new_log", "stack_settings"}
"""Fixtures that start one."""

SERVERS = {"browser", "bucket", "object_store"}
"""Fixtures that start another program."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--kill-every", type=int, default=9, help="Steps between two kills of the same command.")
    parser.addoption("--crash-every", type=int, default=3, help="The same, of commands within the tests' process.")
    parser.addoption("--every-loss", action="store_true", help="Lose every part of several hosts, in every way.")
    parser.addoption("--compact-rounds", type=int, default=3, help="How often to compact beside a live job.")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test is `integration` by its folder or its fixtures, `spark` and `slow` by its fixtures.

    Those of the folder begin, and those of the documentation, of the fault campaign and of replays follow: whole files
    are given to two workers in this order, and what takes longest is not to be left for the end.
    """
    first = (INTEGRATION, "docs", "faults", "replay")
    items.sort(key=lambda item: [folder not in Path(item.path).parts for folder in first])
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if INTEGRATION in Path(item.path).parts or BROKERS.intersection(fixtures):
            item.add_marker(pytest.mark.integration)
        elif "spark" in fixtures:
            item.add_marker(pytest.mark.spark)
        if SERVERS.intersection(fixtures):
            item.add_marker(pytest.mark.slow)
    long = {item.path for item in items if item.get_closest_marker("long")}
    if missed := [str(path) for path in long if "mark.long" not in path.read_text(encoding="utf-8")]:
        raise pytest.UsageError(f"`make test-all` takes the files that say `mark.long`: {', '.join(missed)} do not")


def pytest_configure(config: pytest.Config) -> None:
    """A worker ends when all is done: Python would look through a million objects before, for some seconds."""
    if hasattr(config, "workerinput"):
        atexit.register(os._exit, 0)  # first, and so the last of those that follow


def pytest_unconfigure() -> None:
    """Hypothesis leaves a callback behind through which modules outlive the interpreter: DuckDB then reports leaks."""
    gc.callbacks.clear()


@pytest.fixture(autouse=True)
def _temporary_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that is called in this process takes another one, for this process: not for the tests that follow."""
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The product's own session, on two cores."""
    home = tmp_path_factory.mktemp("spark")
    settings = Settings(home=home, spark=Spark(master="local[2]", driver_memory_mb=4096, conf=SHORT_LIVED))
    jars = ",".join(jar.as_uri() for jar in spark_jars(with_stores=True))
    session = open_session(settings, "tests", {"spark.jars": jars})
    yield session
    close_session(session)


@pytest.fixture
def shared_session(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """The tests' session, in which commands that are called in this process run, too, and which outlives them."""
    monkeypatch.setattr(spark_job, "open_session", lambda *_: spark)
    monkeypatch.setattr(spark_job, "close_session", lambda _: None)
    return spark


@pytest.fixture
def call(pts: Pts, shared_session: SparkSession) -> Call:
    """Runs a command that needs Spark within this process, in the tests' session."""

    def run(arguments: list[str], environment: dict[str, str]) -> Ended:
        variables = {name: value for name, value in environment.items() if name.startswith("PTS_")}
        return pts(*arguments, home=Path(environment["PTS_HOME"]), **variables)

    return run


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap servers of one broker for the whole session. Between two modules it has no topics."""
    settings = embedded(tmp_path_factory.mktemp("broker"))
    stack.start(["broker"], settings, lambda _: None)
    yield settings.bootstrap_servers
    stack.stop(settings, lambda _: None)


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    """One object store for the whole session."""
    with stores.object_store(tmp_path_factory.mktemp("store")) as storage:
        yield storage


@pytest.fixture
def bucket(object_store: Storage) -> Iterator[str]:
    """The URI of a bucket of the test's own, which this process reaches meanwhile."""
    with stores.reached(object_store):
        yield stores.new_bucket(object_store)


@pytest.fixture
def in_store_session(spark: SparkSession, object_store: Storage) -> Iterator[None]:
    """Lets the tests' session reach the store, as one does that is opened for a lake there."""
    reached = S3 | object_store.of_spark()
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()
    for name, value in reached.items():
        if name.startswith("spark.hadoop."):
            hadoop.set(name.removeprefix("spark.hadoop."), value)
        else:
            spark.conf.set(name, value)
    yield
    for name in reached:
        if not name.startswith("spark.hadoop."):
            spark.conf.unset(name)


@pytest.fixture
def pts(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Pts:
    """Runs a command within this process, with an environment of its own."""
    from pipelines.cli import main as cli  # its import changes the environment

    def run(*arguments: str, home: Path, **environment: str) -> Ended:
        for name in [name for name in os.environ if name.startswith("PTS_")]:
            monkeypatch.delenv(name)
        for name, value in {"PTS_HOME": str(home), **environment}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(sys, "argv", ["pts", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return Ended(int(ended.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """Debian's Chromium, for tests that are marked as `NEEDS_CHROMIUM`."""
    from infra.chromium import launched  # its import takes a while

    with launched() as chromium:
        yield chromium


@pytest.fixture
def new_log(broker: str, tmp_path: Path) -> Iterator[Settings]:
    """A log of the test's own."""
    with empty_log(broker, tmp_path) as settings:
        yield settings


@pytest.fixture
def stack_settings(tmp_path: Path) -> Iterator[Settings]:
    """Settings of a stack that is stopped at the end of the test, whatever the test left."""
    settings = embedded(tmp_path / "home")
    yield settings
    stack.stop(settings, lambda _: None)


@pytest.fixture(scope="session")
def crash_every(request: pytest.FixtureRequest) -> int:
    """Steps between two crashes of the same command: `--crash-every 1` has one after each."""
    return int(request.config.getoption("--crash-every"))


@pytest.fixture
def closed_terminal_ends_processes() -> Iterator[None]:
    """As a shell starts them, also where the tests were started by `nohup`, which has all of them ignore SIGHUP."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.fixture(autouse=True)
def _umask_is_put_back() -> Iterator[None]:
    """A command sets it for its process, which is that of the tests where it is called: the next test has its own."""
    before = os.umask(0o077)
    os.umask(before)
    yield
    os.umask(before)


@pytest.fixture(autouse=True)
def _forget_tables() -> Iterator[None]:
    """Delta keeps megabytes of plans for each table of each lake, and tests make hundreds of lakes."""
    yield
    session = SparkSession.getActiveSession()
    if session is not None and session._jvm is not None:
        session._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


@pytest.fixture
def reports_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gold.remaining_stops` counts as large from its first report on, and waits whatever is new to it."""
    monkeypatch.setattr(schedule, "SMALL_ROWS", 0)
    monkeypatch.setattr(schedule, "ROWS_FOR_EACH_NEW", 0)
