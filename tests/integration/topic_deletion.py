"""Topics that go away."""

import time

from confluent_kafka.admin import AdminClient

from pipelines.io.kafka.admin import topic_states
from pipelines.io.kafka.connection import Connection

GONE_WITHIN_SECONDS = 30.0


def delete_topics(servers: str, *names: str) -> None:
    """Deletes them, and returns when the broker tells of none any more: that comes later than its answer."""
    client = AdminClient({"bootstrap.servers": servers})
    for deletion in client.delete_topics(list(names)).values():
        deletion.result()
    deadline = time.monotonic() + GONE_WITHIN_SECONDS
    while topic_states(Connection(servers), names):
        assert time.monotonic() < deadline, f"{servers} still has some of {names}"
        time.sleep(0.05)
