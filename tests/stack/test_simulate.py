"""The simulate job without a broker."""

import signal
import threading
from datetime import UTC, datetime
from itertools import islice

import pytest

from pipelines.commands import Simulate
from pipelines.errors import TopicMismatch
from pipelines.progress import PartAdvanced, PartBegun, PartEnded, Step, reported_to
from pipelines.settings import Kafka, Seal, Settings
from pipelines.simulation.feed import Record, feed
from pipelines.stack import simulate

START = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = Settings(kafka=Kafka(bootstrap_servers="localhost:1", ship_routes_format="json"))


class MemoryLog:
    """A log that remembers, and may do something at each slice."""

    def __init__(self, signal_after: int | None = None) -> None:
        self.records: list[Record] = []
        self.is_flushed = False
        self._signal_after = signal_after

    def append(self, records: list[Record]) -> None:
        self.records += records
        if self._signal_after is not None and len(self.records) >= self._signal_after:
            signal.raise_signal(signal.SIGTERM)

    def flush(self) -> None:
        self.is_flushed = True


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> MemoryLog:
    log = MemoryLog()
    monkeypatch.setattr(simulate, "topic_states", lambda _servers, names: dict.fromkeys(names))
    monkeypatch.setattr(simulate, "LogProducer", lambda _servers: log)
    monkeypatch.setattr(simulate, "begin_offsets", lambda _servers, names: {name: {0: 100, 1: 0} for name in names})
    monkeypatch.setattr(
        simulate,
        "end_offsets",
        lambda _servers, names: {
            name: {0: 100, 1: sum(record.topic == name for record in log.records)} for name in names
        },
    )
    return log


def command(**parameters: object) -> Simulate:
    return Simulate.model_validate({"seed": 5, "packages": 300, "rate": 0, "start": START, **parameters})


def test_sealed_feed_goes_on_also_where_its_intake_has_deleted_records(
    log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, end = {0: 500, 1: 200}, {0: 600, 1: 200}
    sealing = SETTINGS.model_copy(update={"seal": Seal(enabled=True)})
    for name, offsets in (("begin_offsets", begin), ("end_offsets", end)):
        monkeypatch.setattr(simulate, name, lambda _servers, names, of=offsets: {names[0]: of, names[1]: {0: 0}})
    assert simulate.run(command(count=10, resume=True), sealing).records == 10
    intake = [record._replace(topic=f"{record.topic}-intake") for record in feed(5, 300, START, "csv", "json")]
    assert log.records == intake[800:810]


def test_all_packages_are_appended_and_flushed_in_the_formats_of_the_settings(log: MemoryLog) -> None:
    summary = simulate.run(command(), SETTINGS)
    assert log.records == list(feed(5, 300, START, "csv", "json"))
    assert log.is_flushed
    assert summary.records == summary.events + summary.routes == len(log.records)
    assert summary.routes == sum(record.topic == "ship-routes" for record in log.records)


def test_a_count_gives_the_first_records_of_the_unlimited_feed_at_any_rate(log: MemoryLog) -> None:
    simulate.run(command(count=1_500, rate=20_000), SETTINGS)
    assert log.records == list(islice(feed(5, 300, START, "csv", "json"), 1_500))


@pytest.mark.slow
def test_a_feed_that_was_cut_off_goes_on_with_the_next_record_until_there_is_none(log: MemoryLog) -> None:
    for count in (700, 800):
        assert simulate.run(command(count=count, resume=True), SETTINGS).records == count
    assert log.records == list(islice(feed(5, 300, START, "csv", "json"), 1_500))

    simulate.run(command(resume=True), SETTINGS)

    assert log.records == list(feed(5, 300, START, "csv", "json"))
    assert simulate.run(command(resume=True), SETTINGS).records == 0


def test_a_feed_tells_how_much_of_its_count_is_appended(log: MemoryLog) -> None:
    steps = list[Step]()
    with reported_to(steps.append):
        simulate.run(command(count=1_000), SETTINGS)
    assert steps[0] == PartBegun("Appending records", 1_000)
    assert PartAdvanced(1_000) in steps
    assert isinstance(steps[-1], PartEnded)


def test_a_duration_ends_a_feed_that_has_more(log: MemoryLog) -> None:
    summary = simulate.run(command(duration_seconds=0.2, rate=1_000), SETTINGS)
    assert summary.records == 200


def test_sigterm_flushes_what_was_handed_over_and_gives_a_summary(
    log: MemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    stopping = MemoryLog(signal_after=2_000)
    monkeypatch.setattr(simulate, "LogProducer", lambda _servers: stopping)
    summary = simulate.run(command(), SETTINGS)
    assert summary.records == len(stopping.records) == 2_000
    assert stopping.is_flushed
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_missing_topic_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulate, "topic_states", lambda _servers, _names: {"ship-events": None})
    with pytest.raises(TopicMismatch, match="no topic ship-routes at localhost:1: create them with `pts topics`"):
        simulate.run(command(), SETTINGS)


def test_a_log_that_fails_ends_the_run() -> None:
    class FullLog(MemoryLog):
        def append(self, records: list[Record]) -> None:
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        simulate.append_paced(feed(5, 10, START), 0, None, FullLog(), threading.Event())
