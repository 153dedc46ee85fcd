"""Who asks the brokers for the group sees the job's lag."""

from confluent_kafka import ConsumerGroupTopicPartitions, Producer
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.live.live_job import LiveJob
from pipelines.live.planner import live_runner
from pipelines.observability.observers import observers
from pipelines.settings import Settings
from pipelines.stack import simulate
from pipelines.state.ledger import Ledger


def described(settings: Settings) -> dict[tuple[str, int], tuple[int, int]]:
    """By topic and partition: the group's offset and its lag, as tools reckon them."""
    client = AdminClient({**Connection.of(settings).client_options()})
    asked = client.list_consumer_group_offsets([ConsumerGroupTopicPartitions(settings.kafka.lag_group)])
    parts = asked[settings.kafka.lag_group].result().topic_partitions
    ends = end_offsets(Connection.of(settings), {part.topic for part in parts})
    return {
        (part.topic, part.partition): (part.offset, ends[part.topic][part.partition] - part.offset) for part in parts
    }


def test_group_stands_where_the_ledger_does_and_lags_by_what_came_since(spark: SparkSession, new_log: Settings) -> None:
    simulate.run(commands.Simulate(seed=3, packages=20, rate=0), new_log)
    with observers(new_log) as watching:
        runner = live_runner(spark, new_log)
        LiveJob(runner, new_log, observers=watching).run(commands.Stream(drain=True))
    last = Ledger(runner.lake).last()
    assert last is not None
    found = described(new_log)
    expected = {(part.topic, part.partition): (part.end, 0) for part in last.ranges}
    assert found == expected
    producer = Producer(Connection.of(new_log).client_options())
    producer.produce("ship-events", b"x", b"1", partition=1)
    producer.flush()
    offset = expected["ship-events", 1][0]
    assert described(new_log)["ship-events", 1] == (offset, 1)
