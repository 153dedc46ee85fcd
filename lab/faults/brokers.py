"""A broker that is killed, frozen, or comes back with another log."""

import json
import shutil
import signal
import struct
import time
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions

from lab.faults.gaps import CHECKPOINT
from lab.faults.scene import Scene
from pipelines import commands
from pipelines.errors import BrokerUnavailable, LakeMismatch, LogTruncated, TopicMismatch
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.live import topics
from pipelines.stack import simulate, stack
from tests.integration.log_reader import read_log
from tests.integration.topic_deletion import delete_topics

EVENTS = "ship-events"
BROKER_ERRORS = (BrokerUnavailable, TopicMismatch, LogTruncated)
"""Of a job whose broker is away, or not yet what it was."""

LONGER = commands.Simulate(seed=99, packages=2_000, rate=0, count=20_000)
"""Records of which each partition gets more than it had."""

BATCH_HEADER = struct.Struct(">qi")
"""A record batch begins with its first offset, and the number of bytes that follow (Kafka's message format v2)."""


def killed(scene: Scene) -> None:
    """SIGKILL, and a start some seconds later: the job goes on by itself, or ends by name and is started again."""
    with scene.auditor.watching():
        with scene.load(), scene.pts("stream") as (process, log):
            scene.await_batch(log, process)
            for _ in range(scene.chance.randint(1, 3)):
                time.sleep(scene.chance.uniform(0, 3))
                kill(scene)
            time.sleep(scene.chance.uniform(0, 5))
            scene.ends_well(process, log, *BROKER_ERRORS)
        scene.judge()


def kill(scene: Scene) -> None:
    scene.signal_broker(signal.SIGKILL)
    scene.auditor.note_fault()
    time.sleep(scene.chance.uniform(0, 8))
    scene.start_broker()


def frozen(scene: Scene) -> None:
    """SIGSTOP, and SIGCONT some seconds later."""
    with scene.auditor.watching():
        with scene.load(), scene.pts("stream") as (process, log):
            scene.await_batch(log, process)
            freeze(scene)
            time.sleep(scene.chance.uniform(1, 5))
            scene.ends_well(process, log, *BROKER_ERRORS)
        scene.judge()


def freeze(scene: Scene) -> None:
    scene.signal_broker(signal.SIGSTOP)
    scene.auditor.note_fault()
    time.sleep(scene.chance.uniform(1, 20))
    scene.signal_broker(signal.SIGCONT)


def older_tail(scene: Scene) -> None:
    """The broker lost what it had not written to disk: the job that runs names the offsets, and so does the next, also
    when others have taken them since; it goes on when the records are back.
    """
    scene.sent(3)
    scene.done("stream", "--drain")
    scene.auditor.judge()
    before = end_offsets(Connection(scene.servers), [EVENTS])[EVENTS]
    partition = scene.chance.randrange(len(before))
    (folder,) = scene.settings.home.glob(f"kafka/**/{EVENTS}-{partition}")
    kept = scene.folder / "kept"
    with scene.pts("stream") as (job, said):
        scene.await_heartbeat(job, said)
        stack.stop(scene.settings, lambda _: None)
        shutil.copytree(folder, kept)
        _lose_last_batch(folder)
        scene.start_broker()
        after = end_offsets(Connection(scene.servers), [EVENTS])[EVENTS]
        assert after[partition] < before[partition]
        told = f"{EVENTS}/{partition} ends at offset {after[partition]}"
        scene.ends_by_name(job, said, LogTruncated, says=told)
    scene.refused("stream", "--drain", code=LogTruncated.exit_code, says=told)
    simulate.run(LONGER, scene.settings)
    scene.refused("stream", "--drain", code=6, says=f"{EVENTS}/{partition} holds another record at offset")
    stack.stop(scene.settings, lambda _: None)
    shutil.rmtree(folder)
    shutil.copytree(kept, folder)
    scene.start_broker()
    scene.auditor.note_fault()
    scene.sent(1)
    if _has_planned_backwards(scene.lake / CHECKPOINT):
        scene.refused("stream", "--drain", code=LakeMismatch.exit_code, says="pts stream --new-checkpoint")
        scene.done("stream", "--drain", "--new-checkpoint")
    scene.judge()


def _has_planned_backwards(checkpoint: Path) -> bool:
    """Whether the newest batch that Spark has planned ends before it begins: it had looked at the shorter log."""
    plans = sorted((checkpoint / "offsets").glob("[0-9]*"), key=lambda file: int(file.name))
    ends = [json.loads(file.read_text().splitlines()[-1])[EVENTS] for file in plans[-2:]]
    return any(ends[-1][number] < offset for number, offset in ends[0].items())


def recreated(scene: Scene) -> None:
    """A topic that was deleted and created again is another log: refused, by the job that runs and by the next, while
    it is shorter and when it has grown.
    """
    scene.sent(2)
    scene.done("stream", "--drain")
    log = read_log(scene.servers)
    before = end_offsets(Connection(scene.servers), [EVENTS])[EVENTS]
    with scene.pts("stream") as (job, said):
        scene.await_heartbeat(job, said)
        delete_topics(scene.servers, EVENTS)
        scene.auditor.note_fault()
        topics.run(commands.Topics(), scene.settings)
        # when it looked, there was no topic, or a new one
        scene.ends_by_name(job, said, TopicMismatch, LogTruncated, says=EVENTS)
    partition = min(number for number, offset in before.items() if offset)
    scene.refused("stream", "--drain", code=6, says=f"{EVENTS}/{partition} ends at offset 0")
    simulate.run(LONGER, scene.settings)
    scene.refused("stream", "--drain", code=6, says=f"{EVENTS}/{partition} holds another record at offset")
    scene.auditor.judge_refused(log)


def grown(scene: Scene) -> None:
    """A partition more than before: refused, by the job that runs and by the next. What was read till then stays."""
    scene.sent(1)
    scene.done("stream", "--drain")
    with scene.auditor.watching(), scene.load(rate=50), scene.pts("stream") as (process, log):
        scene.await_batch(log, process)
        admin = AdminClient({"bootstrap.servers": scene.servers})
        count = len(end_offsets(Connection(scene.servers), [EVENTS])[EVENTS])
        for future in admin.create_partitions([NewPartitions(EVENTS, count + 1)]).values():
            future.result()
        scene.auditor.note_fault()
        scene.ends_by_name(process, log, TopicMismatch, says=f"Topic {EVENTS} has partitions")
    scene.refused("stream", "--drain", code=5, says=f"Topic {EVENTS} has partitions")
    scene.auditor.judge_what_was_read()


def eaten(scene: Scene) -> None:
    """Retention took records that were not read: a job that was frozen meanwhile names the offsets, and so does the
    next start.
    """
    scene.sent(2)
    scene.done("stream", "--drain")
    log = read_log(scene.servers)
    with scene.pts("stream") as (job, said):
        scene.await_heartbeat(job, said)
        job.send_signal(signal.SIGSTOP)
        begins = end_offsets(Connection(scene.servers), [EVENTS])[EVENTS]
        scene.sent(2)
        ends = end_offsets(Connection(scene.servers), [EVENTS])[EVENTS]
        admin = AdminClient({"bootstrap.servers": scene.servers})
        for future in admin.delete_records([TopicPartition(EVENTS, n, end) for n, end in ends.items()]).values():
            future.result()
        scene.auditor.note_fault()
        job.send_signal(signal.SIGCONT)
        lost = min(number for number, end in ends.items() if end > begins[number])
        told = f"{EVENTS}/{lost} begins at offset {ends[lost]}, but {begins[lost]} is the next to be read"
        scene.ends_by_name(job, said, LogTruncated, says=told)
    scene.refused("stream", "--drain", code=LogTruncated.exit_code, says=told)
    scene.auditor.judge_refused(log)


def _lose_last_batch(folder: Path) -> None:
    """Cuts the last record batch off the newest segment, as if it had never reached the disk."""
    segment = max(folder.glob("*.log"))
    content, positions, at = segment.read_bytes(), [], 0
    while at + BATCH_HEADER.size <= len(content):
        _, size = BATCH_HEADER.unpack_from(content, at)
        if not size:
            break  # the rest is preallocated
        positions.append(at)
        at += BATCH_HEADER.size + size
    segment.write_bytes(content[: positions[-1]])
    for file in (*folder.glob("*.index"), *folder.glob("*.timeindex"), *folder.glob("*.snapshot")):
        file.unlink()
    folder.parent.joinpath(".kafka_cleanshutdown").unlink(missing_ok=True)
