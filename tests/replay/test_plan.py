"""A replay is planned without a write, and what cannot succeed is refused with its reason."""

import json
import shutil
from collections import Counter, namedtuple
from collections.abc import Iterator

import pytest

from pipelines.commands import ReplayBuild, ReplayPlan
from pipelines.errors import AnotherWriter, InvalidInput, LakeUnavailable, LogTruncated, NotFound
from pipelines.replay import build, plan
from pipelines.state.replay_records import Replays
from pipelines.terminal.replay import plan_page
from tests.replay.offline import PACK, Offline, connected

Usage = namedtuple("Usage", "total used free")


@pytest.fixture(scope="module")
def lake(healthy: Offline, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Offline]:
    with pytest.MonkeyPatch.context() as patch:
        yield connected(healthy.copy(tmp_path_factory.mktemp("plan")), patch)


def test_plan_says_what_is_read_from_where_and_what_is_made_of_it(lake: Offline) -> None:
    found = plan.run(ReplayPlan(), lake.settings)
    assert found.records == Counter(record.topic for record in PACK.records)
    assert {source.source for source in found.sources} == {"kafka"}
    assert sum(source.end_offset - source.start_offset for source in found.sources) == len(PACK.records)
    assert found.rows["silver.ship_events"] == len(lake.tables()["silver.ship_events"])
    assert "ops.batches" not in found.rows
    assert found.estimated_seconds is not None
    told = json.loads(json.dumps(found.as_json()))
    assert told["needed_bytes"] < told["free_bytes"]
    assert next(plan_page(found)).startswith(f"Up to batch {found.fence} ")
    assert Replays(lake.settings.lake_root).all() == []


def test_plan_up_to_an_earlier_batch_reads_less(lake: Offline) -> None:
    found = plan.run(ReplayPlan(at_batch=0), lake.settings)
    assert sum(found.records.values()) == len(PACK.batches[0])


def test_batch_that_is_not_there_is_no_as_of_batch(lake: Offline) -> None:
    with pytest.raises(NotFound, match="no batch 99"):
        plan.run(ReplayPlan(at_batch=99), lake.settings)


def test_second_replay_at_a_time_is_refused(lake: Offline) -> None:
    with (
        Replays(lake.settings.lake_root).one_at_a_time(),
        pytest.raises(AnotherWriter, match="already works on a replay"),
    ):
        plan.run(ReplayPlan(), lake.settings)


def test_too_little_disk_is_refused_with_what_is_needed(lake: Offline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(10, 9, 1))
    with pytest.raises(LakeUnavailable, match=r"needs about .* MiB .* 0 MiB free"):
        plan.run(ReplayPlan(), lake.settings)


def test_log_that_ends_before_the_as_of_batch_is_refused(lake: Offline, monkeypatch: pytest.MonkeyPatch) -> None:
    shorter = {topic: dict.fromkeys(partitions, 1) for topic, partitions in lake.offsets("end").items()}
    monkeypatch.setattr(plan, "end_offsets", lambda _servers, _topics: shorter)
    with pytest.raises(LogTruncated, match="ends at offset 1, but the lake has read up to"):
        plan.run(ReplayPlan(), lake.settings)


def test_replay_that_was_begun_goes_on_only_to_its_as_of_batch_and_with_its_code(
    lake: Offline, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = build.run(ReplayBuild(replay_id="first"), lake.settings)
    monkeypatch.setattr(build, "spark_job", None)  # is not needed any more
    assert build.run(ReplayBuild(replay_id="first"), lake.settings) == built
    with pytest.raises(InvalidInput, match=f"is as of batch {built.fence}, not 0"):
        build.run(ReplayBuild(replay_id="first", at_batch=0), lake.settings)
    monkeypatch.setattr(build, "fingerprint", lambda: "other")
    with pytest.raises(InvalidInput, match="begun by other code"):
        build.run(ReplayBuild(replay_id="first"), lake.settings)


def test_replay_waits_while_the_live_job_is_far_behind(lake: Offline, monkeypatch: pytest.MonkeyPatch) -> None:
    lags = [5, 3, 0]
    monkeypatch.setattr(build, "WAIT_SECONDS", 0.01)
    monkeypatch.setattr(build, "live_lag", lambda *_: lags.pop(0))
    build.run(ReplayBuild(replay_id="second", at_batch=0), lake.settings)
    assert lags == []
