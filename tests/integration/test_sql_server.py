"""`pts up sql`, asked by a JDBC client and by one from PyPI; one server for all cases."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pyspark
import pytest
from deltalake import DeltaTable, write_deltalake
from impala._thrift_gen.TCLIService.ttypes import TCancelOperationReq
from impala.dbapi import connect
from impala.error import Error

from pipelines import metrics
from pipelines.io.delta.catalog import Catalog
from pipelines.java_runtime import JAVA
from pipelines.processes.ports import is_open, why_unusable
from pipelines.settings import Broker, Metrics, Settings, Spark, SqlServer
from pipelines.stack import stack
from pipelines.stack.status import status
from pipelines.tables import GOLD_REMAINING_STOPS, Table
from tests import exposed
from tests.docs.conftest import Documented, documented  # noqa: F401, a fixture
from tests.healthy_lake import healthy_lake
from tests.integration.pts_process import SHORT_LIVED, wait_until
from tests.ports import unused_ports
from tests.waiting import becomes

pytestmark = pytest.mark.integration

TIMEOUT = 20
ONE_CORE = Spark(master="local[1]", conf=SHORT_LIVED)
"""A query that has no end takes it, and leaves the others to other tests."""

ENDLESS = """SELECT count(*) FROM range(0, 4000000, 1, 4) AS a CROSS JOIN range(0, 4000000, 1, 4) AS b
             WHERE (a.id * b.id) % 7 = 3"""
"""Some hours of all processors."""

LATER = "gold/failed_delivery_alerts"
"""A table that the lake gets when the server runs."""


def with_comments(lake: Path, table: Table) -> None:
    """The table as the job creates it, with the same rows."""
    rows = DeltaTable(lake / table.folder).to_pyarrow_table()
    shutil.rmtree(lake / table.folder)
    Catalog(str(lake)).ensure(table)
    write_deltalake(lake / table.folder, rows, mode="append")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """Of a small lake, whose tables a server lets be read."""
    home = tmp_path_factory.mktemp("sql")
    port, controller_port = unused_ports()
    broker = Broker(port=port, controller_port=controller_port)
    sql = SqlServer(port=unused_ports()[0], query_timeout_seconds=TIMEOUT)
    healthy_lake().write(home / "lake")
    with_comments(home / "lake", GOLD_REMAINING_STOPS)
    (home / "lake" / LATER).rename(home / "later")
    measured = Metrics(sql_port=unused_ports()[0])
    made = Settings(home=home, broker=broker, sql=sql, metrics=measured, spark=ONE_CORE)
    stack.start(["sql"], made, print)
    becomes(lambda: is_warm(made), 120)
    yield made
    stack.stop(made, print)
    assert not is_open(sql.port)


def is_warm(settings: Settings) -> bool:
    """Whether it has answered: its first query takes the longest, and may be cancelled for that."""
    try:
        with connection_to(settings) as client:
            return bool(ask(client, "SELECT count(*) FROM gold.remaining_stops"))
    except Error:
        return False


@pytest.fixture(scope="module")
def client(settings: Settings) -> Iterator[Any]:
    """A connection that stays for all cases."""
    with connect("127.0.0.1", settings.sql.port, auth_mechanism="PLAIN", user="ada", password="-") as connection:
        yield connection


def ask(client: Any, sql: str, **also: Any) -> list[tuple[Any, ...]]:
    with client.cursor() as cursor:
        cursor.execute(sql, **also)
        rows: list[tuple[Any, ...]] = cursor.fetchall()
    return rows


def beeline(settings: Settings, *commands: str, of_the_session: str = "") -> str:
    """What Spark's own JDBC client writes, as CSV."""
    jars = Path(pyspark.__file__).parent / "jars"
    command = [
        str(JAVA),
        f"-Duser.home={settings.home}",
        "-cp",
        f"{jars}/*",
        "org.apache.hive.beeline.BeeLine",
        "--outputformat=csv2",
        "-u",
        f"{settings.sql.url}/gold{of_the_session}",
    ]
    for given in commands:
        command += ["-e", given]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_service_answers_when_it_has_started(settings: Settings, client: Any) -> None:
    running = {service.name for service in status(settings).services if service.is_alive}
    assert running == {"broker", "sql"}
    assert status(settings).places["sql"] == f"jdbc:hive2://127.0.0.1:{settings.sql.port}"
    assert ask(client, "SELECT tracking_number, status_code FROM gold.remaining_stops WHERE tracking_number = 42") == [
        (42, "IT")
    ]


def test_tables_are_listed_in_their_schemas_with_comments(client: Any) -> None:
    with client.cursor() as cursor:
        cursor.get_tables()
        tables = {f"{row[1]}.{row[2]}": row[4] for row in cursor.fetchall()}
    assert {"bronze.ship_events", "silver.ship_events", "silver.quarantine", "ops.batches"} <= tables.keys()
    assert tables[GOLD_REMAINING_STOPS.name] == GOLD_REMAINING_STOPS.doc
    described = {row[0]: row[2] for row in ask(client, "DESCRIBE gold.remaining_stops")}
    assert described == {column.name: column.doc for column in GOLD_REMAINING_STOPS.columns}


def test_jdbc_client_begins_in_a_schema_and_sees_tables_and_columns(settings: Settings) -> None:
    said = beeline(settings, "SELECT count(*) AS packages FROM remaining_stops;", "!tables", "!columns remaining_stops")
    assert "packages\n" in said
    assert "busiest_stops" in said
    assert all(column.name in said and column.doc[:20] in said for column in GOLD_REMAINING_STOPS.columns)


def test_python_client_reads_as_the_page_says(
    settings: Settings,
    documented: Documented,  # noqa: F811
) -> None:
    names: dict[str, Any] = {}
    exec(documented.take("from impala").replace("10000", str(settings.sql.port)), names)
    assert dict(names["rows"])["IT"] >= 1


def test_reader_that_stays_sees_new_versions(settings: Settings, client: Any) -> None:
    sql = "SELECT count(*) FROM silver.quarantine"
    [(before,)] = ask(client, sql)
    DeltaTable(f"{settings.lake_root}/silver/quarantine").delete("kafka_offset = 3")
    [(after,)] = ask(client, sql)
    assert after < before
    assert ask(client, f"{sql} VERSION AS OF 0") == [(before,)]


def test_reader_that_stays_sees_a_new_table(settings: Settings, client: Any) -> None:
    def is_listed() -> bool:
        return (Path(LATER).name,) in [row[1:2] for row in ask(client, "SHOW TABLES IN gold")]

    assert not is_listed()
    (settings.home / "later").rename(settings.home / "lake" / LATER)
    wait_until(is_listed, settings.home / "logs" / "sql.log")
    assert ask(client, f"SELECT count(*) FROM {LATER.replace('/', '.')}")[0][0] > 0


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM gold.remaining_stops",
        "INSERT INTO gold.remaining_stops SELECT * FROM gold.remaining_stops",
        "DROP TABLE gold.remaining_stops",
        "CREATE TABLE gold.other AS SELECT 1",
        "CREATE TEMPORARY VIEW v AS SELECT * FROM text.`/etc/passwd`",
        "VACUUM gold.remaining_stops RETAIN 0 HOURS",
        "SET spark.sql.variable.substitute = true",
        "SET",
        "RESET",
        "ADD JAR '/tmp/f.jar'",
        "CACHE TABLE gold.remaining_stops",
        "SELECT * FROM text.`/etc/passwd`",
        "SELECT * FROM `/etc/passwd`",
        "SELECT * FROM delta.`/tmp`",
        "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
        "SELECT java_method('java.lang.System', 'getenv', 'HOME')",
        "SELECT xpath_string('<!DOCTYPE a SYSTEM \"file:/etc/passwd\"><a>1</a>', '/a')",
        "SELECT TRANSFORM(1) USING 'cat /etc/passwd'",
        "USE text",
        "USE gold; DROP TABLE remaining_stops",
        "USE CATALOG spark_catalog",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "BEGIN SELECT 1; END",
        "SELEC 1",
    ],
)
def test_statement_that_does_more_than_read_the_tables_is_refused(settings: Settings, client: Any, sql: str) -> None:
    table = f"{settings.lake_root}/gold/remaining_stops"
    before = DeltaTable(table).version()
    with pytest.raises(Error) as refusal:
        ask(client, sql)
    assert "root:" not in str(refusal.value)
    assert "Traceback" not in str(refusal.value)
    assert DeltaTable(table).version() == before


PROPERTIES = {
    "set:hiveconf:spark.sql.session.timeZone": "Asia/Tokyo",
    "set:hiveconf:spark.sql.variable.substitute": "true",
    "set:hivevar:spark.sql.variable.substitute": "true",
    "set:system:spark.sql.variable.substitute": "true",
    "set:metaconf:hive.metastore.uris": "thrift://127.0.0.1:1",
    "hive.server2.proxy.user": "root",
    "spark.sql.session.timeZone": "Asia/Tokyo",
}
WHAT_THEY_CHANGE = "SELECT current_timezone() AS zone, '${env:HOME}' AS home, '${system:java.home}' AS java"
AS_WRITTEN = ("UTC", "${env:HOME}", "${system:java.home}")


def test_properties_that_a_client_sets_change_nothing(settings: Settings, client: Any) -> None:
    with client.cursor(configuration=PROPERTIES) as cursor:
        cursor.execute(WHAT_THEY_CHANGE, configuration=PROPERTIES)
        assert cursor.fetchall() == [AS_WRITTEN]
    url = ";ssl=false?spark.sql.session.timeZone=Asia/Tokyo;spark.sql.variable.substitute=true#system:a=b"
    assert ",".join(AS_WRITTEN) in beeline(settings, f"{WHAT_THEY_CHANGE};", of_the_session=url)


def test_session_begins_in_a_schema_of_the_lake_or_not_at_all(client: Any) -> None:
    for schema in ("text", "gold; DROP TABLE gold.remaining_stops", "delta.`/tmp`"):
        with pytest.raises(Error, match="There is no schema"):
            client.cursor(configuration={"use:database": schema})


def connection_to(settings: Settings) -> Any:
    return connect("127.0.0.1", settings.sql.port, auth_mechanism="PLAIN", user="bo", password="-", timeout=2 * TIMEOUT)


def scraped(settings: Settings) -> str:
    return httpx.get(status(settings).places["sql_metrics"]).text


def test_queries_and_sessions_are_counted(settings: Settings, client: Any) -> None:
    before = exposed.samples(scraped(settings), metrics.SQL_QUERIES)
    ask(client, "SELECT 1")
    for sql in ("DROP TABLE gold.remaining_stops", "SELECT assert_true(count(*) < 0) FROM gold.remaining_stops"):
        with pytest.raises(Error):
            ask(client, sql)
    found = scraped(settings)
    assert exposed.exposed(found) == exposed.documented(metrics.SQL)
    counted = {
        outcome: count - before[outcome] for outcome, count in exposed.samples(found, metrics.SQL_QUERIES).items()
    }
    assert counted == {("answered",): 1, ("refused",): 1, ("failed",): 1, ("cancelled",): 0}
    with connection_to(settings) as other, other.cursor():
        assert becomes(lambda: exposed.samples(scraped(settings), metrics.SQL_SESSIONS)[()] >= 1)


def test_query_that_takes_too_long_is_cancelled_and_others_are_answered(settings: Settings, client: Any) -> None:
    before = exposed.samples(scraped(settings), metrics.SQL_QUERIES)["cancelled",]
    with connection_to(settings) as other, ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        endless = pool.submit(ask, other, ENDLESS)
        while not endless.done():
            assert ("remaining_stops",) in [row[1:2] for row in ask(client, "SHOW TABLES IN gold")]
            time.sleep(1)
        with pytest.raises(Error) as told:
            endless.result()
        assert TIMEOUT <= time.monotonic() - began < 2 * TIMEOUT
        assert str(told.value) == (
            f"The query took longer than {TIMEOUT} s, and was cancelled: PTS_SQL__QUERY_TIMEOUT_SECONDS allows no more."
        )
        assert exposed.samples(scraped(settings), metrics.SQL_QUERIES)["cancelled",] == before + 1
        for each in (client, other):  # on the processors that it had
            assert ask(each, "SELECT count(*) FROM silver.quarantine")[0][0] > 0


def test_client_cancels_a_query_while_it_waits_for_its_rows(settings: Settings, client: Any) -> None:
    with connection_to(settings) as other, other.cursor() as cursor, ThreadPoolExecutor(1) as pool:
        cursor.execute(ENDLESS)
        rows = pool.submit(cursor.fetchall)
        time.sleep(1)
        assert not rows.done()
        client.service.client.CancelOperation(TCancelOperationReq(cursor._last_operation.handle))
        with pytest.raises(Error, match=r"^The query was cancelled by its client\.$"):
            rows.result(TIMEOUT / 2)
        assert ask(client, "SELECT count(*) FROM silver.quarantine")[0][0] > 0


def test_server_listens_on_the_loopback_interface_alone(settings: Settings) -> None:
    assert why_unusable(settings.sql.port) is not None
    assert why_unusable(settings.sql.port, "127.0.0.2") is None
