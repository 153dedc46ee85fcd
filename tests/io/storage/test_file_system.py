"""What DuckDB asks of a store."""

import random
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from obstore.fsspec import FsspecStore

from pipelines.io.delta import duck
from pipelines.io.storage import objects
from pipelines.io.storage.files import files_at


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


def test_threads_that_share_a_file_read_each_where_it_said(bucket: str) -> None:
    content = "".join(random.Random(1).choices("abcdefgh", k=1 << 20))
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
