"""`pts sql` with DuckDB; what every engine must refuse."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from pipelines.commands import Sql
from pipelines.errors import InvalidInput, NotFound
from pipelines.io.spark.read_only import callable_functions
from pipelines.queries.sql import query
from pipelines.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Of a lake with gold.remaining_stops: package 42 at 3 remaining stops, package 43 without a route."""
    reports = pa.table({"tracking_number": [42, 43], "number_of_remaining_stops": pa.array([3, None], pa.int64())})
    write_deltalake(tmp_path / "lake" / "gold" / "remaining_stops", reports)
    return Settings(home=tmp_path)


def test_rows_come_back_as_arrow_with_nulls_as_nulls(settings: Settings) -> None:
    sql = "SELECT * FROM gold.remaining_stops ORDER BY tracking_number"
    assert query(Sql(query=sql, engine="duckdb"), settings).to_pylist() == [
        {"tracking_number": 42, "number_of_remaining_stops": 3},
        {"tracking_number": 43, "number_of_remaining_stops": None},
    ]


def test_unknown_table_is_not_found(settings: Settings) -> None:
    with pytest.raises(NotFound, match=r"there are gold\.remaining_stops"):
        query(Sql(query="FROM gold.remaining_stop", engine="duckdb"), settings)


def test_lake_is_empty_before_the_first_batch_for_both_engines(tmp_path: Path) -> None:
    for engine in ("duckdb", "spark"):
        with pytest.raises(NotFound, match="`pts stream` creates them"):
            query(Sql(query="SELECT 1", engine=engine), Settings(home=tmp_path))


@pytest.fixture
def two_batches(tmp_path: Path) -> Settings:
    """Of a lake where package 42 had 3 remaining stops after batch 0 and 2 after batch 1, which made a table more."""
    lake = tmp_path / "lake"
    for batch_id, count in enumerate((3, 2)):
        reports = pa.table({"tracking_number": [42], "number_of_remaining_stops": [count]})
        write_deltalake(lake / "gold" / "remaining_stops", reports, mode="overwrite")
        tables = [{"table_name": "gold.remaining_stops", "version": batch_id, "position": batch_id}]
        if batch_id:
            write_deltalake(lake / "gold" / "stop_activity", pa.table({"scan_count": [1]}))
            tables.append({"table_name": "gold.stop_activity", "version": 0, "position": batch_id})
        offsets = [
            {"kafka_topic": "ship-events", "kafka_partition": 0, "start_offset": batch_id, "end_offset": batch_id + 1}
        ]
        row = {
            "batch_id": batch_id,
            "committed_at": datetime(2024, 5, 1, tzinfo=UTC),
            "offsets": offsets,
            "tables": tables,
        }
        write_deltalake(
            lake / "ops" / "batches",
            pa.Table.from_pylist([row]).append_column("replay_id", pa.nulls(1, pa.string())),
            mode="append",
        )
    return Settings(home=tmp_path)


STOPS_AND_BATCHES = (
    "SELECT number_of_remaining_stops AS stops, batch_id FROM gold.remaining_stops, ops.batches ORDER BY 2"
)


def test_tables_and_ledger_are_read_as_they_were_after_a_batch(two_batches: Settings) -> None:
    def asked(at_batch: int | None) -> list[dict[str, int]]:
        found: list[dict[str, int]] = query(Sql(query=STOPS_AND_BATCHES, at_batch=at_batch), two_batches).to_pylist()
        return found

    assert asked(0) == [{"stops": 3, "batch_id": 0}]
    assert asked(1) == asked(None) == [{"stops": 2, "batch_id": 0}, {"stops": 2, "batch_id": 1}]


def test_batch_that_the_ledger_does_not_have_is_refused_for_both_engines(two_batches: Settings) -> None:
    for engine in ("duckdb", "spark"):
        with pytest.raises(NotFound, match="no batch 2 in the ledger"):
            query(Sql(query="SELECT 1", engine=engine, at_batch=2), two_batches)


def test_table_that_came_with_a_later_batch_is_not_found_at_an_earlier_one(two_batches: Settings) -> None:
    with pytest.raises(
        NotFound, match=r"no table .*stop_activity at .*; there are gold\.remaining_stops, ops\.batches"
    ):
        query(Sql(query="FROM gold.stop_activity", at_batch=0), two_batches)


def test_batch_whose_files_were_vacuumed_is_refused_for_both_engines_with_the_table(two_batches: Settings) -> None:
    path = Path(two_batches.lake_root) / "gold" / "remaining_stops"
    Path(DeltaTable(path, version=0).file_uris()[0]).unlink()
    for engine in ("duckdb", "spark"):
        with pytest.raises(
            NotFound, match=r"gold\.remaining_stops at version 0 \(batch 0\) of .* can no longer be read"
        ):
            query(Sql(query=STOPS_AND_BATCHES, engine=engine, at_batch=0), two_batches)


@pytest.mark.spark
def test_spark_reads_tables_and_ledger_as_they_were_after_a_batch_and_then_as_they_are(two_batches: Settings) -> None:
    def asked(sql: str, at_batch: int | None) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = query(
            Sql(query=sql, engine="spark", at_batch=at_batch), two_batches
        ).to_pylist()
        return rows

    new = [{"stops": 2, "batch_id": 0}, {"stops": 2, "batch_id": 1}]
    assert asked(STOPS_AND_BATCHES, None) == new
    assert asked(STOPS_AND_BATCHES, 0) == [{"stops": 3, "batch_id": 0}]
    assert asked(STOPS_AND_BATCHES, 1) == new
    assert asked(STOPS_AND_BATCHES, None) == new
    assert "remaining_stops" in {row["tableName"] for row in asked("SHOW TABLES IN gold", 0)}


@pytest.mark.spark
def test_spark_answers_the_same_query(settings: Settings) -> None:
    sql = "SELECT tracking_number AS n FROM gold.remaining_stops ORDER BY n DESC;"
    assert query(Sql(query=sql, engine="spark"), settings).to_pylist() == [{"n": 43}, {"n": 42}]
    assert query(Sql(query="SHOW TABLES IN gold", engine="spark"), settings)["tableName"].to_pylist() == [
        "remaining_stops"
    ]


@pytest.mark.spark
@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM gold.remaining_stops",
        "WITH a AS (SELECT 1) INSERT INTO gold.remaining_stops SELECT 1, 1",
        "FROM gold.remaining_stops INSERT INTO gold.remaining_stops SELECT *",
        "SELECT 1); DELETE FROM gold.remaining_stops; SELECT * FROM (SELECT 1",
        "DROP TABLE gold.remaining_stops",
        "EXPLAIN SELECT 1; DELETE FROM gold.remaining_stops",
        "SELECT nope FROM gold.remaining_stops",
        "CREATE TABLE gold.other AS SELECT 1",
        "CREATE TEMPORARY FUNCTION f AS 'java.lang.System' USING JAR '/tmp/f.jar'",
        "ADD JAR '/tmp/f.jar'",
        "SET spark.sql.variable.substitute = true",
        "CACHE TABLE gold.remaining_stops",
        "OPTIMIZE gold.remaining_stops",
        "VACUUM gold.remaining_stops RETAIN 0 HOURS",
        "INSERT OVERWRITE DIRECTORY '{home}/out' USING csv SELECT 1",
        "EXPLAIN INSERT OVERWRITE DIRECTORY '{home}/out' USING csv SELECT 1",
        "EXECUTE IMMEDIATE 'SELECT 1'",
        "BEGIN SELECT 1; END",
    ],
)
def test_spark_only_reads(settings: Settings, sql: str) -> None:
    with pytest.raises(InvalidInput, match="Spark rejects the query"):
        query(Sql(query=sql.format(home=settings.home), engine="spark"), settings)
    assert DeltaTable(f"{settings.lake_root}/gold/remaining_stops").version() == 0
    assert not (settings.home / "out").exists()


@pytest.mark.spark
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM text.`{secret}`",
        "SELECT * FROM csv.`{secret}`",
        "SELECT * FROM binaryFile.`{secret}`",
        "SELECT * FROM delta.`{lake}/gold/remaining_stops`",
        "SELECT * FROM spark_catalog.delta.`{lake}/gold/remaining_stops`",
        "SELECT * FROM parquet.`{lake}/gold/remaining_stops`",
        "SELECT * FROM IDENTIFIER('text.`{secret}`')",
        "SELECT * FROM IDENTIFIER(concat('text.', '`{secret}`'))",
        "SELECT (SELECT max(value) FROM text.`{secret}`) AS hidden",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM text.`{secret}`)",
        "WITH a AS (SELECT * FROM text.`{secret}`) SELECT * FROM a",
        "SELECT * FROM gold.remaining_stops, LATERAL (SELECT * FROM text.`{secret}`)",
        "SELECT 1 UNION SELECT value FROM text.`{secret}`",
        "TABLE text.`{secret}`",
        "FROM gold.remaining_stops |> UNION ALL TABLE text.`{secret}`",
        "SELECT * FROM gold.remaining_stops WITH ('path' = '{secret}')",
        "EXPLAIN SELECT * FROM text.`{secret}`",
        "EXPLAIN FORMATTED WITH a AS (SELECT * FROM text.`{secret}`) SELECT * FROM a",
        "DESCRIBE QUERY SELECT * FROM text.`{secret}`",
        "DESCRIBE text.`{secret}`",
        "DESCRIBE DETAIL '{lake}/gold/remaining_stops'",
        "DESCRIBE HISTORY delta.`{lake}/gold/remaining_stops`",
        "SHOW CREATE TABLE delta.`{lake}/gold/remaining_stops`",
        "SELECT * FROM table_changes_by_path('{lake}/gold/remaining_stops', 0)",
        "SELECT * FROM table_changes('delta.`{lake}/gold/remaining_stops`', 0)",
        "SELECT * FROM read_files('{secret}')",
        "SELECT from_xml('<p><a>1</a></p>', 'a STRING', map('rowValidationXSDPath', '{secret}'))",
        "SELECT xpath_string('<!DOCTYPE a SYSTEM \"file:{secret}\"><a>1</a>', '/a')",
        "SELECT xpath('<!DOCTYPE a SYSTEM \"http://127.0.0.1:1/a.dtd\"><a>1</a>', '/a')",
        "SELECT from_avro(X'00', '\"string\"', map('avroSchemaUrl', 'file:{secret}'))",
        "SELECT reflect('java.lang.System', 'getenv', 'HOME')",
        "SELECT JAVA_METHOD('java.lang.System', 'getenv', 'HOME')",
        "SELECT try_reflect('java.lang.System', 'getenv', 'HOME')",
        "SELECT builtin.reflect('java.lang.System', 'getenv', 'HOME')",
        "SELECT system.builtin.`reflect`('java.lang.System', 'getenv', 'HOME')",
        "SELECT IDENTIFIER('reflect')('java.lang.System', 'getenv', 'HOME')",
        "SELECT IDENTIFIER(concat('ref', 'lect'))('java.lang.System', 'getenv', 'HOME')",
        "SELECT transform(array('HOME'), name -> reflect('java.lang.System', 'getenv', name))",
        "SELECT * FROM VALUES (reflect('java.lang.System', 'getenv', 'HOME')) AS t(a)",
        "SELECT 1 ORDER BY reflect('java.lang.System', 'getenv', 'HOME')",
        "SELECT * FROM gold.remaining_stops LATERAL VIEW reflect('java.lang.System', 'getenv', 'HOME') t AS a",
        "SELECT max(1) FILTER (WHERE reflect('java.lang.System', 'getenv', 'HOME') = 'x')",
        "SELECT sum(1) OVER (PARTITION BY reflect('java.lang.System', 'getenv', 'HOME'))",
        "SELECT TRANSFORM(1) USING 'cat {secret}'",
        "FROM gold.remaining_stops SELECT TRANSFORM(tracking_number) USING 'cat' AS (a STRING)",
        "SELECT * FROM (SELECT TRANSFORM(1) USING 'cat')",
    ],
)
def test_spark_reads_the_tables_and_neither_files_nor_calls_java_nor_a_program(settings: Settings, sql: str) -> None:
    secret = settings.home / "secret.txt"
    secret.write_text("of nobody's concern")
    with pytest.raises(InvalidInput, match="Spark rejects the query") as refusal:
        query(Sql(query=sql.format(secret=secret, lake=settings.lake_root), engine="spark"), settings)
    assert "concern" not in str(refusal.value)


@pytest.mark.spark
def test_spark_puts_nothing_of_its_process_into_a_query(settings: Settings) -> None:
    for name in ("env:HOME", "system:java.home", "spark.driver.memory"):
        sql = f"SELECT '${{{name}}}' AS text"
        assert query(Sql(query=sql, engine="spark"), settings).to_pylist() == [{"text": f"${{{name}}}"}]


@pytest.mark.spark
def test_no_function_of_spark_that_calls_java_is_among_those_that_a_query_may_call(spark: SparkSession) -> None:
    assert spark._jvm
    registry = spark._jvm.org.apache.spark.sql.catalyst.analysis.FunctionRegistry.builtin()
    names = registry.listFunction().iterator()
    calling = set()
    while names.hasNext():
        name = names.next()
        if "eflect" in registry.lookupFunction(name).get().getClassName():
            calling.add(name.funcName())
    assert calling == {"reflect", "java_method", "try_reflect"}
    assert not calling & callable_functions(spark)
    assert {"count", "date_trunc", "explode", "range", "to_xml"} <= callable_functions(spark)


@pytest.mark.spark
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*), max(tracking_number) FROM gold.remaining_stops HAVING count(*) > 1 LIMIT 3 OFFSET 0",
        "WITH a AS (FROM Gold.REMAINING_STOPS) SELECT *, row_number() OVER w FROM a WINDOW w AS (ORDER BY 1)",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 3) SELECT * FROM r",
        "SELECT e FROM spark_catalog.gold.remaining_stops LATERAL VIEW explode(array(1)) t AS e",
        "SELECT * FROM gold.remaining_stops a JOIN range(50) b ON a.tracking_number = b.id, LATERAL (SELECT b.id + 1)",
        "SELECT /*+ BROADCAST(a) */ * FROM gold.remaining_stops VERSION AS OF 0 a WHERE EXISTS (SELECT 1)",
        "SELECT * FROM gold.remaining_stops PIVOT (count(1) FOR tracking_number IN (42, 43))",
        "SELECT * FROM gold.remaining_stops UNPIVOT (v FOR n IN (tracking_number, number_of_remaining_stops))",
        "FROM gold.remaining_stops |> WHERE tracking_number = 42 |> AGGREGATE count(*) GROUP BY tracking_number",
        "(SELECT 1 EXCEPT SELECT 2) INTERSECT SELECT DISTINCT x FROM VALUES (1) AS t(x)",
        "TABLE gold.remaining_stops",
        "EXPLAIN SELECT * FROM gold.remaining_stops",
        "DESCRIBE gold.remaining_stops",
        "DESC EXTENDED gold.remaining_stops",
        "DESCRIBE QUERY SELECT 1",
        "DESCRIBE HISTORY gold.remaining_stops",
        "DESCRIBE DETAIL gold.remaining_stops",
        "DESCRIBE FUNCTION count",
        "SHOW SCHEMAS",
        "SHOW COLUMNS IN gold.remaining_stops",
        "SHOW TBLPROPERTIES gold.remaining_stops",
        "SHOW FUNCTIONS LIKE 'cou*'",
    ],
)
def test_spark_answers_whatever_only_reads(settings: Settings, sql: str) -> None:
    assert query(Sql(query=sql, engine="spark"), settings).num_rows > 0
