"""From messages to the store, and whether it can be vouched for."""

import sqlite3
import threading
from pathlib import Path

import pytest

from pipelines.errors import AccessRefused, ApiUnavailable, BrokerUnavailable
from pipelines.io.kafka.consumer import Message
from tests.api.makers import MemoryTopic, Rounds, entry, message, stand, tombstone


def test_store_is_vouched_for_once_it_is_where_the_topic_ended(tmp_path: Path) -> None:
    with stand(tmp_path) as made:
        made.freshness.lost()
        made.topic.add(message(0), message(0, 7, partition=1))
        made.feed.follow(Rounds(1))
        assert made.freshness.why_not() == "The reports are being read from the log."
        made.read()
        assert made.freshness.why_not() is None
        assert made.store.entry(7) == entry(0, 7, partition=1)


def test_store_is_not_vouched_for_while_a_partition_is_not_read_to_its_end(tmp_path: Path) -> None:
    with stand(tmp_path) as made:
        made.freshness.lost()
        made.topic.silent = {1}
        made.topic.add(message(0), message(0, 7, partition=1))
        made.read()
        assert made.freshness.why_not() == "The reports are being read from the log."
        made.topic.silent = set()
        made.read()
        assert made.freshness.why_not() is None


def test_last_message_counts_also_where_it_goes_back(tmp_path: Path) -> None:
    """A correction of history does."""
    with stand(tmp_path, message(0, stop=5), message(1, stop=6), message(2, stop=5)) as made:
        assert made.store.entry(42) == entry(2, stop=5)


def test_repeats_after_a_crash_of_the_job_are_no_news(tmp_path: Path) -> None:
    with stand(tmp_path, message(0, stop=5), message(1, 7, stop=1)) as made:
        told: list[int] = []
        made.feed.publish = lambda news, _topic, _positions: told.extend(news)
        made.topic.add(message(2, stop=5), message(3, 7, stop=1), message(4, 8))
        made.read()
        assert told == [8]
        assert made.store.entry(42) == entry(0, stop=5)


def test_restart_goes_on_where_the_store_is(tmp_path: Path) -> None:
    with stand(tmp_path, message(0), message(1)) as made:
        made.topic.add(message(2, stop=10))
        made.read()
        assert made.topic.asked_from[-1] == {0: 2, 1: 0}
        assert made.store.entry(42) == entry(2, stop=10)


@pytest.mark.parametrize("change", ["another topic", "a shorter one", "more partitions"])
def test_topic_that_is_another_one_is_read_from_its_beginning(change: str, tmp_path: Path) -> None:
    with stand(tmp_path, message(0), message(1), message(2, 7)) as made:
        other = MemoryTopic("another" if change == "another topic" else made.topic.topic_id)
        other.add(message(0, 8), *([message(1, 9), message(2, 10)] if change == "another topic" else []))
        if change == "more partitions":
            other.partitions[0] = made.topic.partitions[0][:1]
            other.partitions[2] = []
            other.add(message(1, 8), message(2, 8))
        made.feed.source = other
        made.feed.follow(Rounds(0))
        assert made.store.entry(7) is None, "what is not of this topic is forgotten first"
        assert made.freshness.why_not()
        made.read()
        assert made.store.entry(8) is not None
        assert made.freshness.why_not() is None


def test_topic_that_becomes_another_one_meanwhile_ends_the_following(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with stand(tmp_path, message(0)) as made:
        monkeypatch.setattr("pipelines.api.feed.CHECK_SECONDS", 0)
        asked = iter([made.topic.extent(), made.topic.extent(), MemoryTopic("another").extent()])
        monkeypatch.setattr(made.topic, "extent", lambda: next(asked))
        made.feed.follow(threading.Event())  # which nobody sets
        assert next(asked, None) is None


def test_store_is_not_vouched_for_when_the_log_is_away_for_long_or_refuses(tmp_path: Path) -> None:
    with stand(tmp_path, message(0)) as made:
        made.freshness.failed(BrokerUnavailable("away"))
        made.clock.now += 29
        assert made.freshness.why_not() is None
        made.clock.now += 2
        assert made.freshness.why_not() == "The log has not been read to its end for too long."
        made.read()
        assert made.freshness.why_not() is None
        made.freshness.failed(AccessRefused("no"))
        assert made.freshness.why_not() == "The brokers refuse this service."
        made.read()
        assert made.freshness.why_not() is None


def test_failure_is_told_once_and_tried_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipelines.api.feed.PAUSE_SECONDS", 0)
    with stand(tmp_path, message(0)) as made:
        made.topic.fault = BrokerUnavailable("No broker answers.")
        made.feed.run(Rounds(3))
        assert capsys.readouterr().err == "pts: warning: No broker answers.\n"
        assert made.feed.failure is None


def test_store_that_fails_ends_the_feed_with_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with stand(tmp_path, message(0)) as made:

        def full(*_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(made.store, "apply", full)
        made.topic.add(message(1, 7))
        made.feed.run(threading.Event())
        assert isinstance(made.feed.failure, ApiUnavailable)
        assert "disk is full" in str(made.feed.failure)


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"[]",
        b"{}",
        b"\xff",
        b'{"trackingNumber": 42}',
        message(1, 43).value,
        message(1, numberOfRemainingStops="4").value,
        message(1, eventKafkaOffset=-1).value,
        message(1, occurredAt="yesterday").value,
    ],
)
def test_message_that_is_no_report_leaves_none_behind_that_nobody_knows_to_be_true(
    broken: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with stand(tmp_path, message(0), Message(0, 1, broken, b"42"), message(2, 7)) as made:
        found = made.store.entry(42)
        assert found
        assert found.kind == "unreadable"
        assert made.store.entry(7) == entry(2, 7)
        assert capsys.readouterr().err == "pts: warning: package-reports/0@1 is no report.\n"


@pytest.mark.parametrize("key", [None, b"", b"x", b"0", b"-1", b"9999999999999999999", b"4_2", "٤٢".encode()])
def test_key_that_is_no_tracking_number_is_told_and_left_out(
    key: bytes | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with stand(tmp_path, Message(0, 0, message(0).value, key)) as made:
        assert made.store.count() == 0
        assert made.store.positions()[0] == 1
    assert "package-reports/0@0 is no report" in capsys.readouterr().err


def test_tombstone_takes_a_report_away(tmp_path: Path) -> None:
    with stand(tmp_path, message(0), tombstone(1)) as made:
        assert made.store.entry(42) is None


def test_members_that_nobody_knows_are_left_out(tmp_path: Path) -> None:
    with stand(tmp_path, message(0, secret="x")) as made:
        assert made.store.entry(42) == entry(0)
