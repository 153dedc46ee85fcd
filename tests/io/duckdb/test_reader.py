"""What DuckDB sees of Delta tables, with none of the job's code: the tables are written by delta-rs or by hand."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from pipelines.errors import InvalidInput, LakeMismatch, LakeUnavailable, NotFound
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.storage import access
from pipelines.io.storage.files import files_at

AT = datetime(2024, 5, 1, 23, 30, 0, 123456, tzinfo=UTC)
SCANS = pa.schema(
    [
        ("tracking_number", pa.int64()),
        ("occurred_at", pa.timestamp("us", "UTC")),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)


def write(root: Path | str, *packages: int, table: str = "silver/ship_events", **options: Any) -> Path:
    """Appends one scan for each package."""
    rows = [
        {"tracking_number": package, "occurred_at": AT, "value": b"\xff\x00", "headers": [{"key": "k", "value": b"v"}]}
        for package in packages
    ]
    path = Path(root) / table
    write_deltalake(path, pa.Table.from_pylist(rows, schema=SCANS), mode="append", **options)
    return path


def write_ledger(root: Path, *batches: int) -> None:
    for batch in batches:
        write_deltalake(root / "ops" / "batches", pa.table({"batch_id": [batch]}), mode="append")


def commit(path: Path, version: int, *actions: dict[str, object]) -> None:
    """Writes a commit of the Delta log by hand."""
    log = path / "_delta_log" / f"{version:020d}.json"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("\n".join(json.dumps(action) for action in actions))


@pytest.fixture
def lake(tmp_path: Path) -> str:
    """The root of a lake."""
    return str(tmp_path)


@pytest.fixture
def _far_east(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_far_east")
def test_values_come_out_as_they_were_written_whatever_the_time_zone_of_the_machine(lake: str, tmp_path: Path) -> None:
    write(tmp_path, 42)
    rows = LakeReader(lake).query("SELECT *, occurred_at::VARCHAR AS text FROM silver.ship_events")
    assert rows.schema.field("occurred_at").type == pa.timestamp("us", "UTC")
    assert rows.to_pylist() == [
        {
            "tracking_number": 42,
            "occurred_at": AT,
            "value": b"\xff\x00",
            "headers": [{"key": "k", "value": b"v"}],
            "text": "2024-05-01 23:30:00.123456+00",
        }
    ]


def test_timestamp_literal_without_zone_is_utc(lake: str, tmp_path: Path) -> None:
    write(tmp_path, 42)
    sql = "SELECT count(*) AS n FROM silver.ship_events WHERE occurred_at = TIMESTAMPTZ '2024-05-01 23:30:00.123456'"
    assert LakeReader(lake).query(sql).to_pylist() == [{"n": 1}]


@pytest.mark.usefixtures("_far_east")
def test_int96_timestamps_of_older_spark_are_utc(lake: str, tmp_path: Path) -> None:
    path = write(tmp_path, 42)
    file = next(path.glob("*.parquet"))
    pq.write_table(pq.read_table(file), file, use_deprecated_int96_timestamps=True)
    log = path / "_delta_log" / f"{0:020d}.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["size"] = file.stat().st_size
    commit(path, 0, *actions)
    assert LakeReader(lake).query("SELECT occurred_at FROM silver.ship_events").to_pylist() == [{"occurred_at": AT}]


@pytest.mark.parametrize("folder", ["my lake", "100%", "it's", "env=prod", "naïve#1", "a&b;c"])
def test_lake_may_lie_in_a_folder_with_an_odd_name(tmp_path: Path, folder: str) -> None:
    write(tmp_path / folder, 42)
    rows = LakeReader(str(tmp_path / folder)).query("SELECT * FROM silver.ship_events")
    assert rows.column_names == SCANS.names
    assert rows.num_rows == 1


@pytest.mark.parametrize("folder", ["a%20b", "a*b", "a[b]", "a|b"])
def test_path_that_a_reader_would_take_for_another_one_is_refused(tmp_path: Path, folder: str) -> None:
    with pytest.raises(InvalidInput, match="choose another path"):
        LakeReader(str(tmp_path / folder))


def test_empty_table_has_its_columns_and_types(lake: str, tmp_path: Path) -> None:
    DeltaTable.create(str(tmp_path / "silver" / "ship_events"), schema=SCANS)
    rows = LakeReader(lake).query("SELECT * FROM silver.ship_events")
    assert rows.num_rows == 0
    assert rows.schema.equals(SCANS)


def test_column_that_was_added_later_is_null_in_older_rows(lake: str, tmp_path: Path) -> None:
    path = write(tmp_path, 42)
    newer = pa.Table.from_pylist([{"tracking_number": 43, "city": "Lyon"}])
    write_deltalake(path, newer, mode="append", schema_mode="merge")
    sql = "SELECT tracking_number, city, value IS NULL AS no_value FROM silver.ship_events ORDER BY 1"
    assert LakeReader(lake).query(sql).to_pylist() == [
        {"tracking_number": 42, "city": None, "no_value": False},
        {"tracking_number": 43, "city": "Lyon", "no_value": True},
    ]


def test_columns_keep_the_order_of_the_table_whatever_that_of_its_files(lake: str, tmp_path: Path) -> None:
    path = write(tmp_path, 42)
    file = next(path.glob("*.parquet"))
    columns = pq.read_table(file).select(SCANS.names[::-1])
    pq.write_table(columns, path / "reversed.parquet")
    add = {"path": "reversed.parquet", "partitionValues": {}, "size": (path / "reversed.parquet").stat().st_size}
    commit(path, 1, {"add": add | {"modificationTime": 0, "dataChange": True}})
    rows = LakeReader(lake).query("SELECT * FROM silver.ship_events")
    assert rows.column_names == SCANS.names
    assert rows.num_rows == 2


def test_partition_column_is_read_although_no_file_holds_it(lake: str, tmp_path: Path) -> None:
    table = pa.table({"day": ["a b", "50%", None], "n": [1, 2, 3]})
    write_deltalake(tmp_path / "gold" / "by_day", table, partition_by=["day"])
    assert LakeReader(lake).query("SELECT day, n FROM gold.by_day ORDER BY n").to_pylist() == table.to_pylist()


def test_removed_files_are_not_read(lake: str, tmp_path: Path) -> None:
    path = write(tmp_path, 42, 43)
    DeltaTable(path).delete("tracking_number = 42")
    assert LakeReader(lake).query("SELECT tracking_number AS n FROM silver.ship_events").to_pylist() == [{"n": 43}]


def test_pinned_table_is_read_at_its_version_and_another_at_its_newest(lake: str, tmp_path: Path) -> None:
    for package in (42, 43):
        write(tmp_path, package)
        write(tmp_path, package, table="bronze/ship_events")
    reader = LakeReader(lake, versions={"silver.ship_events": 0})
    assert reader.query("FROM silver.ship_events").num_rows == 1
    assert reader.query("FROM bronze.ship_events").num_rows == 2


def test_version_that_a_table_does_not_have_is_refused(lake: str, tmp_path: Path) -> None:
    write(tmp_path, 42)
    with pytest.raises(
        NotFound, match=r"silver\.ship_events at version 7 of .* does not hold that version, or no longer"
    ):
        LakeReader(lake, versions={"silver.ship_events": 7}).query("FROM silver.ship_events")


def test_version_whose_commits_were_cleaned_up_is_refused_and_newer_ones_are_read(lake: str, tmp_path: Path) -> None:
    for package in (41, 42, 43):
        path = write(tmp_path, package)
    DeltaTable(path).create_checkpoint()
    (path / "_delta_log" / f"{0:020d}.json").unlink()
    with pytest.raises(NotFound, match="does not hold that version, or no longer"):
        LakeReader(lake, versions={"silver.ship_events": 1}).query("FROM silver.ship_events")
    assert LakeReader(lake, versions={"silver.ship_events": 2}).query("FROM silver.ship_events").num_rows == 3


def test_old_version_that_lost_files_to_a_vacuum_says_which_table_and_batch(lake: str, tmp_path: Path) -> None:
    path = write(tmp_path, 42)
    vacuumed = DeltaTable(path).file_uris()
    write_deltalake(path, DeltaTable(path).to_pyarrow_table(), mode="overwrite")
    Path(vacuumed[0]).unlink()
    reader = LakeReader(lake, versions={"silver.ship_events": 0}, until_batch=5)
    with pytest.raises(
        NotFound,
        match=r"silver\.ship_events at version 0 \(batch 5\) of .* can no longer be read: 1 of its 1 data files",
    ):
        reader.query("FROM silver.ship_events")
    assert LakeReader(lake, versions={"silver.ship_events": 1}).query("FROM silver.ship_events").num_rows == 1


def test_ledger_ends_with_the_batch_as_of_which_the_lake_is_read(lake: str, tmp_path: Path) -> None:
    write_ledger(tmp_path, 0, 1, 2)
    write(tmp_path, 42)
    reader = LakeReader(lake, versions={"silver.ship_events": 0}, until_batch=1)
    assert reader.query("SELECT max(batch_id) AS last FROM ops.batches").to_pylist() == [{"last": 1}]
    assert reader.query("FROM ops.batches, silver.ship_events").num_rows == 2


def test_table_that_the_batch_does_not_know_yet_is_not_there(lake: str, tmp_path: Path) -> None:
    write_ledger(tmp_path, 0)
    write(tmp_path, 42)
    write(tmp_path, 42, table="gold/later")
    reader = LakeReader(lake, versions={"silver.ship_events": 0}, until_batch=0)
    assert reader.answer("SHOW TABLES")["name"].to_pylist() == ["ops.batches", "silver.ship_events"]
    with pytest.raises(NotFound, match=r"no table gold\.later at .*; there are ops\.batches, silver\.ship_events\."):
        reader.query("FROM gold.later")


@pytest.mark.parametrize(
    "feature", ["deletionVectors", "columnMapping", "v2Checkpoint", "typeWidening", "soonInvented"]
)
def test_reader_feature_that_this_reader_lacks_is_refused(lake: str, tmp_path: Path, feature: str) -> None:
    path = write(tmp_path, 42)
    features = {"readerFeatures": [feature], "writerFeatures": [feature]}
    commit(path, 1, {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7} | features})
    with pytest.raises(LakeMismatch, match=rf"silver\.ship_events .*(uses {feature}|cannot be read)"):
        LakeReader(lake).query("FROM silver.ship_events")


def test_column_mapping_of_reader_version_2_is_refused(lake: str, tmp_path: Path) -> None:
    path = write(tmp_path, 42)
    actions = [json.loads(line) for line in (path / "_delta_log" / f"{0:020d}.json").read_text().splitlines()]
    metadata = next(action for action in actions if "metaData" in action)
    schema = json.loads(metadata["metaData"]["schemaString"])
    for number, field in enumerate(schema["fields"][:2], start=1):
        field["metadata"] = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    schema["fields"] = schema["fields"][:2]
    metadata["metaData"]["schemaString"] = json.dumps(schema)
    metadata["metaData"]["configuration"] = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    commit(path, 1, {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}, metadata)
    with pytest.raises(LakeMismatch, match="uses columnMapping of the Delta protocol"):
        LakeReader(lake).query("FROM silver.ship_events")


def test_tables_that_the_query_does_not_name_are_not_opened(lake: str, tmp_path: Path) -> None:
    write(tmp_path, 42)
    broken = write(tmp_path, 42, table="bronze/ship_events")
    commit(broken, 0, {"commitInfo": {}})
    assert LakeReader(lake).query("FROM Silver.SHIP_EVENTS").num_rows == 1
    with pytest.raises(LakeMismatch):
        LakeReader(lake).query("FROM bronze.ship_events")


def test_tables_are_the_folders_with_a_delta_log(lake: str, tmp_path: Path) -> None:
    write(tmp_path, 42)
    write(tmp_path, 42, table="ops/batches")
    write(tmp_path, 42, table="_checkpoint/sources")
    (tmp_path / "gold" / "half_made").mkdir(parents=True)
    (tmp_path / "README").touch()
    assert LakeReader(lake).table_names() == ["ops.batches", "silver.ship_events"]
    assert LakeReader(lake).answer("SHOW TABLES")["name"].to_pylist() == ["ops.batches", "silver.ship_events"]


@pytest.mark.parametrize("folder", ["", "absent"])
def test_lake_without_tables_says_what_creates_them(lake: str, folder: str) -> None:
    with pytest.raises(NotFound, match=r"no tables at .* yet: `pts stream` creates them"):
        LakeReader(f"{lake}/{folder}".rstrip("/")).query("SELECT 1")


@pytest.mark.parametrize("table", ["silver.ship_event", "gold.ship_events", "ship_events"])
def test_unknown_table_is_answered_with_those_there_are(lake: str, tmp_path: Path, table: str) -> None:
    write(tmp_path, 42)
    with pytest.raises(NotFound, match=r"no table .*ship_event.* there are silver\.ship_events\."):
        LakeReader(lake).query(f"SELECT * FROM {table}")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT tracking_number FROM silver.ship_events;",
        "WITH s AS (FROM silver.ship_events) SELECT * FROM s",
        "DESCRIBE silver.ship_events",
        "SUMMARIZE silver.ship_events",
        "EXPLAIN SELECT * FROM silver.ship_events",
        "explain analyze FROM silver.ship_events",
        "EXPLAIN (FORMAT json) SELECT * FROM silver.ship_events",
        "SELECT * FROM silver.ship_events a JOIN silver.ship_events b USING (tracking_number)",
    ],
)
def test_statements_that_read_are_accepted(tmp_path: Path, sql: str) -> None:
    write(tmp_path, 42)
    assert LakeReader(str(tmp_path)).answer(sql).num_rows > 0


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "-- nothing",
        "SELECT 1; SELECT 2",
        "DELETE FROM silver.ship_events",
        "INSERT INTO silver.ship_events SELECT * FROM silver.ship_events",
        "WITH a AS (INSERT INTO silver.ship_events FROM silver.ship_events RETURNING *) FROM a",
        "CREATE TABLE t AS SELECT 1",
        "COPY silver.ship_events TO '{lake}/out.parquet'",
        "EXPLAIN ANALYZE COPY silver.ship_events TO '{lake}/out.parquet'",
        "EXPLAIN /**/ ANALYZE /**/ COPY silver.ship_events TO '{lake}/out.parquet'",
        "EXPLAIN (ANALYZE) COPY silver.ship_events TO '{lake}/out.parquet'",
        "/**/ EXPLAIN ANALYZE COPY silver.ship_events TO '{lake}/out.parquet'",
        "ATTACH '{lake}/x.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "LOAD httpfs",
    ],
)
def test_statements_that_do_anything_but_read_are_refused(tmp_path: Path, sql: str) -> None:
    write(tmp_path, 42)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((InvalidInput, NotFound)) as refusal:
        LakeReader(str(tmp_path)).answer(sql.format(lake=tmp_path))
    assert "\n" not in str(refusal.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_files_outside_the_lake_cannot_be_read(
    lake: str, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    write(tmp_path, 42)
    secret = tmp_path_factory.mktemp("elsewhere") / "secret.csv"
    secret.write_text("a\n1\n")
    with pytest.raises(InvalidInput, match="Permission Error"):
        LakeReader(lake).answer(f"FROM read_csv('{secret}')")


@pytest.mark.parametrize(
    "rows",
    [
        "read_parquet('{dead}')",
        "'{dead}'",
        "parquet_metadata('{dead}')",
        "read_text('{lake}/_checkpoint/commits/0')",
        "read_text('{lake}/silver/ship_events/_delta_log/*.json')",
        "read_blob('{lake}/_live.lock')",
        "glob('{lake}/**')",
        "read_parquet('{lake}/silver/ship_events/*.parquet')",
    ],
)
def test_of_the_lake_nothing_can_be_read_but_the_live_files_of_the_tables(lake: str, tmp_path: Path, rows: str) -> None:
    path = write(tmp_path, 41)
    dead = DeltaTable(path).file_uris()[0]
    write_deltalake(path, DeltaTable(path).to_pyarrow_table(), mode="overwrite")
    (tmp_path / "_checkpoint" / "commits").mkdir(parents=True)
    for name in ("_checkpoint/commits/0", "_live.lock"):
        (tmp_path / name).write_text("of nobody's concern")
    sql = f"SELECT * FROM {rows.format(dead=dead, lake=tmp_path)} -- silver.ship_events"
    with pytest.raises(InvalidInput, match="Permission Error"):
        LakeReader(lake).answer(sql)
    assert LakeReader(lake).answer("FROM silver.ship_events").num_rows == 1


@pytest.mark.parametrize(
    "rows",
    [
        "read_parquet('{lake}/silver/ship_events/dead.parquet')",
        "read_text('{lake}/_live.lock')",
        "glob('{lake}/**')",
        "read_parquet('{lake}/silver/ship_events/*.parquet')",
        "read_text('s3://another/secret')",
        "read_text('/etc/passwd')",
    ],
)
def test_of_a_store_nothing_can_be_read_but_the_live_files_of_the_tables(bucket: str, rows: str) -> None:
    scans = pa.table({"tracking_number": [41]})
    write_deltalake(f"{bucket}/silver/ship_events", scans, storage_options=access.of_delta_rs())
    files_at(bucket).write("_live.lock", "of nobody's concern")
    with pytest.raises(InvalidInput, match="Permission Error"):
        LakeReader(bucket).answer(f"SELECT * FROM {rows.format(lake=bucket)} -- silver.ship_events")
    assert LakeReader(bucket).answer("FROM silver.ship_events").num_rows == 1


def test_what_has_no_room_in_memory_goes_to_a_folder_that_nobody_can_have_made_before(tmp_path: Path) -> None:
    write(tmp_path, 42)
    asked = "SELECT current_setting('temp_directory') AS folder"
    first, second = (LakeReader(str(tmp_path)).answer(asked)["folder"][0].as_py() for _ in range(2))
    assert first != second
    assert not Path(first).exists()


def test_names_of_this_process_are_no_tables(tmp_path: Path) -> None:
    write(tmp_path, 42)
    with LakeReader(str(tmp_path)).closed(["silver.ship_events"]) as connection:
        mine = pa.table({"a": [1]})
        with pytest.raises(duckdb.CatalogException, match="mine does not exist"):
            connection.sql("FROM mine")
        assert mine.num_rows == 1


def test_network_cannot_be_reached_even_for_an_extension(tmp_path: Path) -> None:
    write(tmp_path, 42)
    with LakeReader(str(tmp_path)).closed(["silver.ship_events"]) as connection:
        for sql in (
            "INSTALL httpfs",
            "FROM read_parquet('https://127.0.0.1:1/x.parquet')",
            "SET lock_configuration = false",
        ):
            with pytest.raises(duckdb.Error):
                connection.sql(sql)


def test_fault_in_the_query_is_one_sentence_of_duckdb(lake: str, tmp_path: Path) -> None:
    write(tmp_path, 42)
    with pytest.raises(
        InvalidInput, match=r'^DuckDB rejects the query: .*Referenced column "nope" not found.*\.$'
    ) as fault:
        LakeReader(lake).answer("SELECT nope FROM silver.ship_events")
    assert "\n" not in str(fault.value)


def test_file_that_is_gone_is_not_an_empty_table(tmp_path: Path) -> None:
    path = write(tmp_path, 42)
    next(path.glob("*.parquet")).unlink()
    with pytest.raises(LakeUnavailable, match="cannot be read"):
        LakeReader(str(tmp_path)).query("FROM silver.ship_events")


def test_filter_is_pushed_into_the_files_so_that_a_package_costs_little(lake: str, tmp_path: Path) -> None:
    write(tmp_path, *range(1, 50))
    plan = LakeReader(lake).query("EXPLAIN SELECT tracking_number FROM silver.ship_events WHERE tracking_number = 42")
    assert "Filters: tracking_number = 42" in plan["explain_value"][0].as_py().replace('"', "")
    assert "Projections: tracking_number" in plan["explain_value"][0].as_py()


def test_a_table_whose_creation_is_under_way_is_not_there_yet(tmp_path: Path) -> None:
    log = tmp_path / "gold" / "remaining_stops" / "_delta_log"
    log.mkdir(parents=True)
    (log / ".00000000000000000000.json.0a1b.tmp").write_text("")
    with pytest.raises(NotFound, match="has no version yet"):
        LakeReader(str(tmp_path)).query("SELECT * FROM gold.remaining_stops")


def test_what_else_lies_in_the_root_is_not_looked_into(lake: str, tmp_path: Path) -> None:
    write(tmp_path, 42)
    write(tmp_path, 42, table="lost+found/silver")
    write(tmp_path, 42, table="backup/ship_events")
    assert LakeReader(lake).table_names() == ["silver.ship_events"]
    assert LakeReader(lake).query("SELECT count(*) AS n FROM silver.ship_events")["n"].to_pylist() == [1]
