"""What DuckDB asks of a store."""

import pytest
from obstore.fsspec import FsspecStore

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
