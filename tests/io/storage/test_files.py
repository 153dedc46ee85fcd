from pathlib import Path

import obstore
import pytest

from pipelines.errors import LakeUnavailable
from pipelines.io.storage.entry import Entry
from pipelines.io.storage.files import Files, files_at
from pipelines.io.storage.objects import ObjectFiles
from tests.leases import writer_lease


@pytest.fixture(params=["folder", "store"])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A root with an odd name, in a folder and in a store."""
    if request.param == "store":
        return f"{request.getfixturevalue('bucket')}/country=DE ü"
    (tmp_path / "country=DE ü").mkdir()
    return str(tmp_path / "country=DE ü")


@pytest.fixture
def files(root: str) -> Files:
    return files_at(root)


def names(found: list[Entry]) -> set[tuple[str, int, bool]]:
    return {(entry.name, entry.byte_count, entry.is_folder) for entry in found}


def test_what_was_written_last_is_read(files: Files) -> None:
    files.write("_lake.json", "one")
    files.write("_lake.json", "second")
    assert files.read("_lake.json") == b"second"


def test_file_that_is_not_there_is_told_from_what_cannot_be_read(files: Files) -> None:
    assert not files.exists("_lake.json")
    with pytest.raises(FileNotFoundError) as missing:
        files.read("_lake.json")
    assert missing.value.strerror == "No such file or directory"
    files.delete("_lake.json")
    assert not files.delete_folder("silver")
    assert files.entries("silver") == []


def test_folder_lists_what_is_immediately_in_it(files: Files) -> None:
    files.write("_lake.json", "one")
    files.write("silver/scans/1.parquet", "1")
    files.write("silver/scans/_delta_log/0.json", "")
    assert names(files.entries()) == {("_lake.json", 3, False), ("silver", 0, True)}
    assert names(files.entries("silver/scans")) == {("1.parquet", 1, False), ("_delta_log", 0, True)}
    assert files.exists("silver/scans/1.parquet")
    assert not files.exists("silver/scans/_delta_log"), "a folder"
    assert not files.exists("silver/scan")


def test_folder_is_deleted_with_all_in_it_and_its_neighbour_stays(files: Files) -> None:
    files.write("fix/silver/1", "1")
    files.write("fix-2/replay.json", "2")
    assert files.delete_folder("fix")
    assert names(files.entries()) == {("fix-2", 0, True)}
    assert files_at(f"{files.root}/fix-2").delete_folder("")
    assert files.entries("fix-2") == []


def test_root_gets_another_name_with_all_in_it(files: Files) -> None:
    files.write("live/metadata", "id")
    files.write("live/offsets/0", "ends")
    files_at(f"{files.root}/live").rename_to(f"{files.root}/before")
    assert not files.exists("live")
    assert (files.read("before/metadata"), files.read("before/offsets/0")) == (b"id", b"ends")
    files_at(f"{files.root}/live").rename_to(f"{files.root}/never")
    assert not files.exists("never")


def test_file_is_taken_without_a_look_at_it_and_twice(files: Files) -> None:
    files.write("shadow/part 1.parquet", "rows")
    files.make_folder("live")
    for _ in range(2):
        files_at(f"{files.root}/live").take(f"{files.root}/shadow/part 1.parquet", "part 1.parquet")
    assert files.read("live/part 1.parquet") == b"rows"
    files.delete("shadow/part 1.parquet")
    assert files.read("live/part 1.parquet") == b"rows"


def test_folder_that_has_gone_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files_at(str(tmp_path / "unmounted")).write("_live.heartbeat", "{}")


def test_store_refuses_in_its_own_words(bucket: str) -> None:
    elsewhere = files_at(f"{bucket}-of-nobody/lake")
    for ask in (lambda: elsewhere.read("a"), lambda: elsewhere.write("a", ""), elsewhere.entries):
        with pytest.raises(OSError, match="NoSuchBucket") as refused:
            ask()
        assert refused.value.strerror == "the store says NoSuchBucket (The specified bucket does not exist)"


def test_store_that_ignores_conditions_is_refused(bucket: str, monkeypatch: pytest.MonkeyPatch) -> None:
    files, put = ObjectFiles(f"{bucket}/lake"), obstore.put
    files.check_conditions()
    assert files.entries() == []
    monkeypatch.setattr(obstore, "put", lambda store, name, content, mode: put(store, name, content))
    with pytest.raises(OSError, match="does not keep to conditional writes"):
        files.check_conditions()
    with pytest.raises(LakeUnavailable, match="does not keep to conditional writes"), writer_lease(f"{bucket}/lake"):
        pass
