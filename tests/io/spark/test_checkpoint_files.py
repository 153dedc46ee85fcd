"""How Spark writes the files of a checkpoint, in a folder (`infra/java/FolderCheckpoint.scala`) and in a store
(`ConditionalCheckpoint.scala`).
"""

from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from pipelines.io.storage.files import files_at
from tests.permissions import permitted_beyond


class Manager:
    """The one that Spark makes for a folder, by the session's settings and some more of Hadoop's."""

    def __init__(self, spark: SparkSession, folder: str, **more: str) -> None:
        self._jvm: Any = spark._jvm
        self._folder = folder
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        for name, value in more.items():
            configuration.set(name.replace("_", "."), value)
        managers = "org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager$"
        self._java = getattr(getattr(self._jvm, managers), "MODULE$").create(self._path(), configuration)

    def created(self, name: str, text: str, *, may_overwrite: bool = False) -> Any:
        file = self._java.createAtomic(self._path(name), may_overwrite)
        file.write(bytearray(text.encode()))
        return file

    def write(self, name: str, text: str, *, may_overwrite: bool = False) -> None:
        self.created(name, text, may_overwrite=may_overwrite).close()

    def read(self, name: str) -> str:
        file = self._java.open(self._path(name))
        return bytes(file.readAllBytes()).decode()

    def _path(self, *name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path("/".join([self._folder, *name]))


@pytest.fixture
def manager(spark: SparkSession, tmp_path: Path) -> Manager:
    return Manager(spark, tmp_path.as_uri())


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_file_is_there_as_a_whole_and_alone(manager: Manager, tmp_path: Path) -> None:
    file = manager.created("7", "whole")
    assert not (tmp_path / "7").exists()
    file.close()
    file.close()
    assert (names(tmp_path), manager.read("7")) == (["7"], "whole")
    assert permitted_beyond(0o077, tmp_path) == {}, "whatever the umask of the process is"


def test_of_two_jobs_one_makes_the_file(manager: Manager, tmp_path: Path) -> None:
    late = manager.created("7", "late")
    manager.write("7", "first")
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        late.close()
    assert (names(tmp_path), manager.read("7")) == (["7"], "first")


def test_file_that_may_be_overwritten_is(manager: Manager, tmp_path: Path) -> None:
    manager.write("7", "old")
    manager.write("7", "new", may_overwrite=True)
    assert (names(tmp_path), manager.read("7")) == (["7"], "new")


def test_file_that_is_given_up_leaves_nothing(manager: Manager, tmp_path: Path) -> None:
    file = manager.created("7", "half")
    file.cancel()
    file.close()
    assert names(tmp_path) == []


def test_checksum_of_a_file_that_is_gone_does_not_count(manager: Manager, tmp_path: Path) -> None:
    (tmp_path / ".7.crc").write_bytes(b"crc\0\0\0\2\0\1\2\3\4")
    manager.write("7", "new")
    assert (names(tmp_path), manager.read("7")) == (["7"], "new")


@pytest.fixture
def in_store(spark: SparkSession, in_store_session: None, bucket: str, tmp_path: Path) -> Manager:
    return Manager(spark, f"{bucket}/offsets", hadoop_tmp_dir=str(tmp_path), fs_s3_impl_disable_cache="true")


def test_of_two_jobs_the_store_lets_one(in_store: Manager) -> None:
    late = in_store.created("7", "late")
    in_store.write("7", "first")
    with pytest.raises(Py4JJavaError, match="FileAlreadyExistsException"):
        late.close()
    assert in_store.read("7") == "first"


def test_file_in_a_store_is_overwritten_or_given_up_as_in_a_folder(
    in_store: Manager, bucket: str, tmp_path: Path
) -> None:
    in_store.write("7", "old")
    in_store.write("7", "new", may_overwrite=True)
    assert in_store.read("7") == "new"
    in_store.created("8", "half").cancel()
    assert [entry.name for entry in files_at(bucket).entries("offsets")] == ["7"]
    assert names(tmp_path) == [], "what is small goes to the store from memory"
