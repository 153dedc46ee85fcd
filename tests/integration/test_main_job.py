"""The main job on a real broker: its tables are the log's, whatever happens to the job on the way."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.errors import LakeMismatch, LogTruncated
from pipelines.io.duckdb.reader import LakeReader
from pipelines.live import topics
from pipelines.replay import build, compare, promote
from pipelines.settings import Settings, Stream
from pipelines.stack import simulate
from pipelines.wire_format import WireFormat
from tests.brokers import drain, empty_log
from tests.comparison import assert_lake_equals_log, assert_messages_tell, expected_rows
from tests.integration.log_reader import INPUTS, read_log
from tests.integration.topic_deletion import delete_topics
from tests.oracle.records import LogRecord
from tests.oracle.tables import expected_tables
from tests.replay.offline import WRONG_FLOWS

FEED = commands.Simulate(seed=5, packages=300, rate=0)
HALF = FEED.model_copy(update={"count": 4_000})


CSV_ONLY = pytest.mark.parametrize("stand", ["csv"], indirect=True)
"""For what does not depend on the wire format."""


@dataclass(frozen=True)
class Stand:
    """Topics of a broker, and the settings of a job on them."""

    settings: Settings
    wire_format: WireFormat

    @property
    def servers(self) -> str:
        return self.settings.bootstrap_servers

    def log(self) -> list[LogRecord]:
        return read_log(self.servers)


@pytest.fixture(scope="module", params=["csv", pytest.param("json", marks=pytest.mark.long)])
def stand(broker: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stand]:
    wire_format: WireFormat = request.param
    formats = {"ship_events_format": wire_format, "ship_routes_format": wire_format}
    with empty_log(broker, tmp_path_factory.mktemp(wire_format), partitions=3, **formats) as settings:
        yield Stand(settings.model_copy(update={"stream": Stream(max_records_per_batch=2_500)}), wire_format)


def test_lake_equals_the_log_after_a_drain_and_after_the_next(spark: SparkSession, stand: Stand) -> None:
    drain(spark, stand.settings)
    simulate.run(HALF, stand.settings)
    drain(spark, stand.settings)
    assert_lake_equals_log(stand.settings.lake_root, stand.log(), stand.wire_format)
    producer = Producer({"bootstrap.servers": stand.servers})
    producer.produce("ship-events", key=b"1", value=b"\xff", headers=[("trace", b"\x00"), ("empty", None)])
    producer.flush()
    simulate.run(FEED, stand.settings)
    drain(spark, stand.settings)
    assert_lake_equals_log(stand.settings.lake_root, stand.log(), stand.wire_format)


def test_ledger_covers_the_log_without_gap_or_overlap_and_its_counts_are_the_oracles(stand: Stand) -> None:
    rows = LakeReader(stand.settings.lake_root).query("SELECT * FROM ops.batches ORDER BY batch_id").to_pylist()
    assert [row["batch_id"] for row in rows] == list(range(len(rows)))
    reached = {(topic, number): 0 for topic in INPUTS for number in range(3)}
    for row in rows:
        for part in row["offsets"]:
            assert part["start_offset"] == reached[part["kafka_topic"], part["kafka_partition"]]
            reached[part["kafka_topic"], part["kafka_partition"]] = part["end_offset"]
    log = stand.log()
    assert sum(reached.values()) == len(log)
    expected = expected_tables(log, stand.wire_format, stand.wire_format)["counts"]
    for topic in expected:
        counts = [count for row in rows for count in row["counts"] if count["kafka_topic"] == topic["topic"]]
        for name in ("read_count", "accepted_count", "duplicate_count", "quarantined_count"):
            assert sum(count[name] for count in counts) == topic[name], (topic["topic"], name)


@CSV_ONLY
def test_last_message_about_a_package_is_its_report(stand: Stand) -> None:
    assert_messages_tell(stand.servers, expected_rows(stand.log(), stand.wire_format)["gold.remaining_stops"])


@CSV_ONLY
def test_drain_of_a_log_without_news_changes_nothing(spark: SparkSession, stand: Stand) -> None:
    reader = LakeReader(stand.settings.lake_root)
    before = {name: reader.open(name).version() for name in reader.table_names()}
    drain(spark, stand.settings)
    reader = LakeReader(stand.settings.lake_root)
    assert {name: reader.open(name).version() for name in reader.table_names()} == before


@CSV_ONLY
def test_other_batch_sizes_give_the_same_tables(spark: SparkSession, stand: Stand) -> None:
    settings = stand.settings.model_copy(
        update={"lake": f"{stand.settings.lake_root}-again", "stream": Stream(max_records_per_batch=100_000)}
    )
    drain(spark, settings)
    assert_lake_equals_log(settings.lake_root, stand.log(), stand.wire_format)
    read = LakeReader(settings.lake_root).query("FROM ops.batches WHERE list_sum([c.read_count for c in counts]) > 0")
    assert len(read) == 1


@CSV_ONLY
def test_a_ledger_that_another_checkpoint_planned_is_refused(spark: SparkSession, stand: Stand) -> None:
    settings = stand.settings.model_copy(update={"lake": f"{stand.settings.lake_root}-again"})
    metadata = Path(settings.lake_root) / "_checkpoints" / "live" / "metadata"
    metadata.write_text(json.dumps({"id": "00000000-0000-0000-0000-000000000000"}))
    with pytest.raises(LakeMismatch, match="00000000-0000-0000-0000-000000000000"):
        drain(spark, settings)


@CSV_ONLY
def test_a_bug_is_corrected_by_a_replay_of_the_log(shared_session: SparkSession, stand: Stand) -> None:
    settings = stand.settings.model_copy(update={"lake": f"{stand.settings.lake_root}-wrong"})
    drain(shared_session, settings, WRONG_FLOWS)
    build.run(commands.ReplayBuild(replay_id="fix"), settings)
    found = compare.run(commands.ReplayCompare(replay_id="fix", expect=("gold.remaining_stops",)), settings)
    assert (found.differing > 0, found.undeclared) == (True, 0)
    promote.run(commands.ReplayPromote(replay_id="fix"), settings)
    assert_lake_equals_log(settings.lake_root, stand.log(), stand.wire_format)


@CSV_ONLY
def test_log_that_ends_with_a_transaction_is_gone_on_with_and_one_that_became_another_is_refused(
    spark: SparkSession, stand: Stand
) -> None:
    """Also when it has grown beyond what was read. Last in this module: it takes the log away."""
    settings = stand.settings.model_copy(update={"lake": f"{stand.settings.lake_root}-other"})
    producer = Producer({"bootstrap.servers": stand.servers, "transactional.id": "one"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("ship-events", key=b"1", value=b"\xff")
    producer.commit_transaction()
    drain(spark, settings)
    drain(spark, settings)
    delete_topics(stand.servers, *INPUTS)
    topics.run(commands.Topics(), settings)
    simulate.run(FEED.model_copy(update={"seed": 6, "packages": 600}), settings)
    with pytest.raises(LogTruncated, match=r"ship-events/\d holds another record at offset"):
        drain(spark, settings)
