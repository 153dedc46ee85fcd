"""Records that a wrong rule rejected enter all tables, each once, as if the rule had been right from the start."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from pipelines.checks import verify as ledger_proof
from pipelines.commands import QuarantineRedrive, QuarantineShow, ReplayPromote, ReplayRollback, ReplayVerify, Verify
from pipelines.contracts.rules import Reason
from pipelines.engine import record_tasks
from pipelines.errors import LakeMismatch, NotCompared
from pipelines.io.delta import delta_rs
from pipelines.io.duckdb.reader import LakeReader
from pipelines.queries import quarantine
from pipelines.replay import promote, redrive, rollback, verify
from pipelines.replay.redrive import Redriven
from pipelines.transforms.judge import judged
from tests.batches import Crashed
from tests.comparison import expected_rows
from tests.leases import writer_lease
from tests.oracle.makers import scan
from tests.replay.offline import PACK, Offline, connected, fed
from tests.saboteur import Saboteur

MALFORMED = QuarantineRedrive(reasons=(Reason.MALFORMED,))


@contextmanager
def wrong_rule() -> Iterator[None]:
    """Every second record of a partition is taken for malformed, and so is what is too late."""
    right = judged

    def wrong(records: DataFrame, *arguments: Any) -> DataFrame:
        is_second, reason = F.col("kafka_offset") % 2 == 0, F.col("reason")
        is_taken = (reason.isNull() & is_second) | (reason == Reason.TOO_LATE.value)
        return right(records, *arguments).withColumn(
            "reason", F.when(is_taken, Reason.MALFORMED.value).otherwise(reason)
        )

    record_tasks.judged_columns.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(record_tasks, "judged", wrong)
        yield
    record_tasks.judged_columns.cache_clear()


@pytest.fixture(scope="module")
def judged_wrongly(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Offline:
    with wrong_rule():
        return fed(spark, tmp_path_factory.mktemp("redrive"), PACK.batches, -1)


@pytest.fixture
def lake(judged_wrongly: Offline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offline:
    return connected(judged_wrongly.copy(tmp_path), monkeypatch)


@pytest.fixture(scope="module")
def corrected(judged_wrongly: Offline, tmp_path_factory: pytest.TempPathFactory) -> tuple[Offline, Redriven]:
    made = judged_wrongly.copy(tmp_path_factory.mktemp("corrected"))
    with pytest.MonkeyPatch.context() as patch:
        return made, redrive.run(MALFORMED, connected(made, patch).settings)


def test_dry_run_tells_the_same_and_changes_nothing(lake: Offline, corrected: tuple[Offline, Redriven]) -> None:
    before = lake.tables()
    looked = redrive.run(MALFORMED.model_copy(update={"dry_run": True}), lake.settings)
    assert looked == replace(corrected[1], promoted=None)
    assert sum(looked.accepted.values()) > 40
    assert set(looked.rejected) == {"too_late"}
    assert lake.tables() == before


def test_accepted_records_are_in_all_tables_once_and_the_others_stay_with_their_new_reason(
    corrected: tuple[Offline, Redriven], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, found = corrected
    lake = connected(made.copy(tmp_path), monkeypatch)
    assert found.promoted is not None
    assert lake.tables() == expected_rows(lake.read())
    assert ledger_proof.run(Verify(), lake.settings).ledger_batch_id == found.promoted.batch_id
    history = LakeReader(lake.settings.lake_root).query(
        "SELECT reason, new_reason, count(*) AS records FROM ops.redriven_records GROUP BY ALL ORDER BY ALL"
    )
    assert history.to_pylist() == [
        {"reason": "malformed", "new_reason": "too_late", "records": found.rejected["too_late"]},
        {"reason": "malformed", "new_reason": None, "records": sum(found.accepted.values())},
    ]
    assert {json.loads(value or "null")["trackingNumber"] for _, value in made.sent}

    again = redrive.run(MALFORMED, lake.settings)
    assert (again.promoted, again.accepted, again.rejected) == (None, {}, {})
    lake.feed()
    assert lake.tables() == expected_rows(PACK.records)
    assert verify.run(ReplayVerify(), lake.settings).verdict == "identical"


def test_redrive_is_rolled_back_like_any_promotion(
    judged_wrongly: Offline, corrected: tuple[Offline, Redriven], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, found = corrected
    lake = connected(made.copy(tmp_path), monkeypatch)
    assert found.promoted is not None
    rollback.run(ReplayRollback(replay_id=found.promoted.replay_id), lake.settings)
    assert lake.tables() == judged_wrongly.tables()
    assert LakeReader(lake.settings.lake_root).query("FROM ops.redriven_records").num_rows == 0


def test_redrive_that_was_cut_off_starts_over_or_is_finished_by_the_command_that_the_refusal_names(
    lake: Offline, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        Saboteur(patch, (redrive.Redrive, "_recompute_windows"), limit=1)
        with pytest.raises(Crashed):
            redrive.run(MALFORMED, lake.settings)
    with monkeypatch.context() as patch:
        Saboteur(patch, (delta_rs, "end_swap_in"), limit=14)
        with pytest.raises(Crashed):
            redrive.run(MALFORMED, lake.settings)
    with pytest.raises(LakeMismatch, match=r"pts replay promote (redrive-\d+)") as refused:
        redrive.run(MALFORMED, lake.settings)
    name = str(refused.value).partition("pts replay promote ")[2].partition("`")[0]
    promote.run(ReplayPromote(replay_id=name), lake.settings)
    assert lake.tables() == expected_rows(lake.read())


def test_live_job_with_the_wrong_rule_is_refused(lake: Offline, monkeypatch: pytest.MonkeyPatch) -> None:
    with writer_lease(lake.settings.lake_root):
        monkeypatch.setattr(promote, "fingerprint", lambda: "corrected")
        with pytest.raises(NotCompared, match="other code"):
            redrive.run(MALFORMED, lake.settings)


def test_quarantine_is_listed_by_reason_and_shown_with_legible_bytes(spark: SparkSession, tmp_path: Path) -> None:
    broken = replace(scan(offset=0), value=b"\xff", headers=(("trace", b"a1"), ("none", None)))
    lake = fed(spark, tmp_path, [[broken, replace(scan(offset=1), value=b"")]])
    listed = quarantine.listed(lake.settings)
    assert {(row["kafka_topic"], row["reason"], row["record_count"]) for row in listed} == {
        ("ship-events", "not_utf8", 1),
        ("ship-events", "empty", 1),
    }
    (shown,) = quarantine.shown(QuarantineShow(reason=Reason.NOT_UTF8), lake.settings)
    assert (shown["key"], shown["value"], shown["detail"]) == ("42", "0xff", "the value is not UTF-8")
    assert shown["headers"] == [{"key": "trace", "value": "a1"}, {"key": "none", "value": None}]
