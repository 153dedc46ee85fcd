"""Which replay `pts replay verify` makes, or goes on with."""

from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from pipelines.code_version import fingerprint
from pipelines.commands import ReplayBuild, ReplayVerify
from pipelines.errors import NotFound
from pipelines.replay import build, compare, verify
from pipelines.settings import Settings
from pipelines.state.replay_records import Comparison, Promotion, Replay, Replays
from tests.state.test_replay_records import replay

NEWEST, GONE, PROMOTED = 9, 8, 2
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def readable(batch_id: int) -> SimpleNamespace:
    if batch_id == GONE:
        raise NotFound("It can no longer be read.")
    return SimpleNamespace(batch_id=batch_id)


class Chosen(Exception):
    """Stops `verify` where the replay would begin."""


def chosen(lake: Path, monkeypatch: pytest.MonkeyPatch, *found: Replay, fence: int | None = None) -> tuple[str, int]:
    def begin(command: ReplayBuild, _settings: Settings) -> None:
        raise Chosen(command.replay_id, command.at_batch)

    replays = Replays(str(lake))
    for each in found:
        replays.save(each)
    monkeypatch.setattr(verify, "snapshot", lambda _, at: readable(NEWEST if at is None else at))
    monkeypatch.setattr(verify, "newest_promotion", lambda _: PROMOTED)
    monkeypatch.setattr(build, "run", begin)
    with pytest.raises(Chosen) as stopped:
        verify.run(ReplayVerify(at_batch=fence), Settings(lake=str(lake)))
    replay_id, of = stopped.value.args
    return replay_id, of


def begun(fence: int, **changed: object) -> Replay:
    made = replay({}, {}, replay_id=f"verify-{fence}")
    return made.model_copy(update={"fence": fence, "code": fingerprint()} | changed)


def verdict(**differing: int) -> Comparison:
    return Comparison(
        compared_at=datetime(2026, 3, 1, tzinfo=UTC),
        live_versions={},
        shadow_versions={},
        declared=(),
        differing=differing,
        has_passed=not differing,
    )


def test_one_that_was_cut_off_is_finished_though_the_live_job_went_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert chosen(tmp_path, monkeypatch) == ("verify-9", NEWEST)
    assert chosen(tmp_path, monkeypatch, begun(4)) == ("verify-4", 4)
    assert chosen(tmp_path, monkeypatch, begun(5, comparison=verdict())) == ("verify-5", 5)
    assert chosen(tmp_path, monkeypatch, fence=6) == ("verify-6", 6)


def test_one_that_differs_one_of_other_code_and_a_persons_own_are_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = begun(3, comparison=verdict(rows=1)), begun(4, code="other"), begun(5, replay_id="fix-5")

    assert chosen(tmp_path, monkeypatch, *others) == ("verify-9", NEWEST)


def test_of_those_that_differ_the_newest_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replays, differing = Replays(str(tmp_path)), {"comparison": verdict(rows=1)}
    promoted = Promotion(
        begun_at=NOON, batch_id=7, way_back_to=6, before={}, shadow_versions={}, positions={}, done_at=NOON
    )
    for each in (
        *(begun(3, **differing), begun(4, code="other", **differing), begun(5, replay_id="fix-5", **differing)),
        *(begun(6, **differing, promotions=(promoted,)), begun(NEWEST, **differing)),
    ):
        replays.save(each)
    monkeypatch.setattr(verify, "snapshot", lambda _, at: readable(at))
    monkeypatch.setattr(verify, "newest_promotion", lambda _: PROMOTED)
    monkeypatch.setattr(build, "run", lambda *_: None)
    monkeypatch.setattr(compare, "run", lambda *_: SimpleNamespace(differing=1))

    verify.run(ReplayVerify(at_batch=NEWEST), Settings(lake=str(tmp_path)))

    assert {each.replay_id for each in replays.all()} == {"verify-4", "fix-5", "verify-6", "verify-9"}


def test_one_that_was_cut_off_is_dropped_when_its_live_tables_are_gone_or_were_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replaced, gone = begun(PROMOTED - 1), begun(GONE, comparison=verdict())
    assert chosen(tmp_path, monkeypatch, replaced, gone, begun(PROMOTED)) == (f"verify-{PROMOTED}", PROMOTED)
    assert [each.replay_id for each in Replays(str(tmp_path)).all()] == [f"verify-{PROMOTED}"]
