"""What DuckDB asks of a store."""

import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from obstore.fsspec import FsspecStore

from pipelines.io.delta import duck
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from pipelines.io.storage import file_system, objects
from pipelines.io.storage.files import files_at
from tests import stores
from tests.io.delta.test_lake import COLOURS, rows


def test_what_a_file_is_like_is_asked_once_and_of_one_that_is_not_there_again(
    bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, ask = list[str](), FsspecStore._info

    async def counted(store: FsspecStore, path: str, **options: object) -> object:
        asked.append(path)
        return await ask(store, path, **options)

    monkeypatch.setattr(FsspecStore, "_info", counted)
    system = objects.file_system()
    for _ in range(2):
        assert not system.exists(f"{bucket}/part-1.parquet")
    files_at(bucket).write("part-1.parquet", "rows")
    assert {system.size(f"{bucket}/part-1.parquet") for _ in range(3)} == {4}
    assert len(asked) == 3


def test_size_that_a_table_s_log_tells_is_not_asked(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    duck.reach(bucket)
    cursor = duck.cursor()
    file = f"{bucket}/silver/scans/part-1.parquet"
    cursor.execute(f"COPY (SELECT 7 AS id) TO '{file}' (FORMAT parquet)")
    size = next(entry.byte_count for entry in files_at(f"{bucket}/silver/scans").entries())

    async def asked(*_: object, **__: object) -> object:
        raise AssertionError

    monkeypatch.setattr(FsspecStore, "_info", asked)
    monkeypatch.setattr(file_system, "_known", {})
    file_system.note_sizes({file: size})
    assert cursor.execute(f"SELECT id FROM read_parquet('{file}')").fetchall() == [(7,)]


def test_small_write_and_its_reading_look_at_no_data_file(tmp_path: Path) -> None:
    """What was asked of the store stands in its log."""
    with stores.object_store(tmp_path) as storage, stores.reached(storage):
        lake = Lake(None, f"{stores.new_bucket(storage)}/lake")
        lake.ensure(COLOURS)
        with closing(duck.cursor()) as cursor:
            lake.append(cursor, rows((1, "red")), COLOURS, Transaction("job/colours", 1))
            before = len(stores.requests(tmp_path))
            lake.append(cursor, rows((2, "red")), COLOURS, Transaction("job/colours", 2))
            lake.merge(cursor, rows((1, "blue"), (3, "red")), COLOURS, Transaction("job/colours", 3))
            found = cursor.execute(f"{lake.rows(COLOURS)} ORDER BY id").fetchall()
    assert found == [(1, "blue"), (2, "red"), (3, "red")]
    asked = stores.requests(tmp_path)[before:]
    of_data = [request for request in asked if ".parquet" in request]
    assert [request.split()[0] for request in of_data if not request.startswith("GET")] == ["PUT", "PUT"]
    assert not [request for request in of_data if "list-type" in request]
    assert len(of_data) <= 5, of_data
    assert len(asked) <= 34, asked


def test_name_that_was_just_made_up_is_not_looked_for(bucket: str) -> None:
    system, file = objects.file_system(), "part-7-0.parquet"
    files_at(bucket).write(file, "rows")
    with files_at(bucket).made_up("part-7-"):
        assert not system.exists(f"{bucket}/{file}")
        assert not system.exists(f"{bucket}/part-8-0.parquet")
    assert system.exists(f"{bucket}/{file}")


@pytest.mark.parametrize("size", [file_system.SMALL_BYTES, 1 << 20], ids=["small", "large"])
def test_threads_that_share_a_file_read_each_where_it_said(bucket: str, size: int) -> None:
    content = "".join(random.Random(1).choices("abcdefgh", k=size))
    files_at(bucket).write("part-1.parquet", content)
    with objects.file_system().open(f"{bucket}/part-1.parquet", "rb") as file, ThreadPoolExecutor(4) as pool:

        def read(number: int) -> bool:
            begin, length = number * 9_973 % len(content), 50_000 + number
            file.seek(begin)
            time.sleep(0.001)  # others say where they read
            return bool(file.read(length).decode() == content[begin : begin + length])

        assert all(pool.map(read, range(100)))
        file.seek(-5, 2)
        assert (file.read(), file.tell()) == (content[-5:].encode(), len(content))


def test_large_files_are_read_as_they_were_written(bucket: str) -> None:
    duck.reach(bucket)
    cursor = duck.cursor()
    rows = "SELECT range AS id, md5(range::VARCHAR) AS text FROM range(200000)"
    cursor.execute(f"COPY ({rows}) TO '{bucket}/large.parquet' (FORMAT parquet, ROW_GROUP_SIZE 20000)")
    found = f"SELECT count(*), sum(hash(id, text)) FROM read_parquet('{bucket}/large.parquet')"
    assert (
        cursor.execute(found).fetchall()
        == cursor.execute(f"SELECT count(*), sum(hash(id, text)) FROM ({rows})").fetchall()
    )
