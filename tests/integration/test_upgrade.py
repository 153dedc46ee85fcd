"""Lakes and checkpoints of earlier commits: they are gone on with, or refused with the remedy."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.faults.gaps import TABLES, Gaps
from pipelines import commands
from pipelines.errors import LakeMismatch
from pipelines.settings import Settings
from pipelines.stack import simulate
from tests import golden
from tests.brokers import empty_log
from tests.calling import Call, Ended
from tests.comparison import assert_lake_equals_log
from tests.golden import archive
from tests.integration.log_reader import read_log
from tests.integration.pts_process import settings_of

pytestmark = pytest.mark.long


ARCHIVES = Path(golden.__file__).parent
OPENS = ("8dc7edc", "e581be8-killed")
REFUSED = ("fb89dd8",)
"""Its ledger has other columns."""


@dataclass(frozen=True)
class Upgraded:
    """The log of an archive on a broker, and its lake."""

    settings: Settings
    folder: Path
    call: Call

    def stream(self, lake: str = archive.LAKE) -> Ended:
        """Runs the job to the end of the log."""
        return self.call(["stream", "--drain"], settings_of(self.settings, lake))

    def files(self) -> dict[Path, bytes]:
        """Of the archive's lake; without the locks, which tell who looked last."""
        files = (path for path in (self.folder / archive.LAKE).rglob("*") if path.is_file() and path.suffix != ".lock")
        return {path: path.read_bytes() for path in files}

    def assert_equals_log(self, lake: str = archive.LAKE) -> None:
        assert_lake_equals_log(str(self.folder / lake), read_log(self.settings.bootstrap_servers))


@pytest.fixture
def upgraded(broker: str, request: pytest.FixtureRequest, tmp_path: Path, call: Call) -> Iterator[Upgraded]:
    log = archive.unpack(ARCHIVES / f"{request.param}.tar.gz", tmp_path)
    with empty_log(broker, tmp_path, partitions=archive.PARTITIONS) as settings:
        archive.put_back(log, broker)
        assert read_log(broker) == log
        yield Upgraded(settings, tmp_path, call)


@pytest.mark.parametrize("upgraded", OPENS, indirect=True)
def test_lake_of_an_earlier_commit_is_gone_on_with(upgraded: Upgraded) -> None:
    simulate.run(commands.Simulate(seed=9, packages=40, rate=0, count=500), upgraded.settings)
    drained = upgraded.stream()
    assert drained.returncode == 0, drained.stderr[-3000:]
    upgraded.assert_equals_log()


def test_lake_whose_job_was_killed_is_in_the_middle_of_a_batch(tmp_path: Path) -> None:
    archive.unpack(ARCHIVES / "e581be8-killed.tar.gz", tmp_path)
    assert Gaps(str(tmp_path / archive.LAKE)).of_kill() == TABLES[0]


@pytest.mark.parametrize("upgraded", REFUSED, indirect=True)
def test_lake_that_this_code_does_not_write_is_refused_as_it_is_and_the_log_makes_another(upgraded: Upgraded) -> None:
    before = upgraded.files()
    refused = upgraded.stream()
    assert refused.returncode == LakeMismatch.exit_code
    assert "is not the one this code writes: column replay_id string is missing" in refused.stderr
    assert "point PTS_LAKE at a new place: the job builds the lake again" in refused.stderr
    assert upgraded.files() == before
    drained = upgraded.stream("again")
    assert drained.returncode == 0, drained.stderr[-3000:]
    upgraded.assert_equals_log("again")
