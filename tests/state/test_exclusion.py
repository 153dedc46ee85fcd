"""Commands that delete files, and commands that correct rows, one at a time."""

import os
from pathlib import Path

import pytest

from pipelines.errors import AnotherWriter
from pipelines.state.exclusion import correcting, deleting_files
from pipelines.state.handover import handed_over
from tests.leases import writer_lease


def test_second_command_that_corrects_rows_is_refused_and_the_live_job_is_not(tmp_path: Path) -> None:
    with (
        correcting(str(tmp_path)),
        writer_lease(str(tmp_path)),
        pytest.raises(AnotherWriter, match=f"Process {os.getpid()} already corrects rows"),
        correcting(str(tmp_path)),
    ):
        pass


def test_files_are_not_deleted_while_a_command_has_the_lease(tmp_path: Path) -> None:
    with (
        handed_over(str(tmp_path)),
        pytest.raises(AnotherWriter, match="takes files out of the tables"),
        deleting_files(str(tmp_path), patience_seconds=0.1),
    ):
        pass
