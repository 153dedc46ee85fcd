"""One writer per lake, for as long as it runs."""

import os
from pathlib import Path

import pytest

from pipelines.errors import AnotherWriter, LakeUnavailable
from pipelines.state.writer_lease import writer_lease


def test_second_job_on_a_lake_is_refused_with_the_process_of_the_first(tmp_path: Path) -> None:
    with (
        writer_lease(str(tmp_path / "lake")),
        pytest.raises(AnotherWriter, match=f"Process {os.getpid()} already writes the lake"),
        writer_lease(str(tmp_path / "lake")),
    ):
        pass


def test_lake_is_free_again_when_the_job_has_ended(tmp_path: Path) -> None:
    for _ in range(2):
        with writer_lease(str(tmp_path / "lake")):
            pass


def test_two_lakes_may_have_a_job_each(tmp_path: Path) -> None:
    with writer_lease(str(tmp_path / "one")), writer_lease(str(tmp_path / "other")):
        assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "other"]


def test_lake_that_cannot_be_written_is_refused_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file where the folder should be")
    with (
        pytest.raises(LakeUnavailable, match=r"The lake .*lake cannot be written: "),
        writer_lease(str(tmp_path / "lake")),
    ):
        pass
