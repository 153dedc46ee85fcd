"""Where the live job goes on: ledger, streaming checkpoint and log must agree before anything is written."""

from collections.abc import Iterable, Mapping

from pipelines.errors import LakeMismatch, LogTruncated, TopicMismatch
from pipelines.graph import ARCHIVES
from pipelines.io.kafka.log import Offsets
from pipelines.io.spark.checkpoint import REMEDY, SEE, Checkpoint
from pipelines.state.ledger import LedgerRow
from pipelines.state.replay_records import Replays, half_done


def starting_offsets(last: LedgerRow | None, checkpoint: Checkpoint, begin: Offsets, end: Offsets) -> Offsets:
    """The offsets from which the next batch reads.

    Args:
        last: The ledger's newest row.
        checkpoint: The live job's checkpoint, which agrees with it.
        begin: First offset that each partition of the log still holds.
        end: Offset of the next record of each partition.

    Raises:
        TopicMismatch: A topic has other partitions than when the lake began.
        LogTruncated: The log lost records that are still to be read, or is shorter than what was read.
    """
    if last is None:
        planned = checkpoint.last_planned()
        return begin if planned is None else _reachable(checkpoint.start_offsets(planned), begin, end)
    return _reachable(last.end_offsets, begin, end)


def check_agreement(last: LedgerRow | None, checkpoint: Checkpoint) -> None:
    """Raises `LakeMismatch` when the ledger's newest row and the live job's checkpoint contradict each other."""
    check_ledger(last, checkpoint)
    query_id = checkpoint.query_id()
    if last is None:
        return
    if query_id != last.checkpoint_id:
        raise LakeMismatch(
            f"The ledger's last batch {last.batch_id} was planned by checkpoint {last.checkpoint_id}, but "
            f"{checkpoint.path} {'is missing' if query_id is None else f'is {query_id}'}. Restore that checkpoint, "
            f"{REMEDY} {SEE}."
        )
    planned, committed = checkpoint.last_planned(), checkpoint.last_committed()
    number = last.checkpoint_batch_id
    is_planned = (-1 if planned is None else planned) in (number, number + 1)
    is_committed = (-1 if committed is None else committed) in (number, number - 1)
    if not (is_planned and is_committed):
        raise LakeMismatch(
            f"The ledger ends with batch {number} of its checkpoint, but {checkpoint.path} has planned {planned} and "
            f"committed {committed}. One of the two was restored from another time: restore both from the same, "
            f"{REMEDY} {SEE}."
        )
    if (reached := checkpoint.start_offsets(number + 1)) != last.end_offsets:
        raise LakeMismatch(
            f"Batch {number} ends at {last.end_offsets} in the ledger, but at {reached} in {checkpoint.path}. Restore "
            f"the one that is wrong, {REMEDY} {SEE}."
        )


def check_plan(last: LedgerRow | None, checkpoint: Checkpoint) -> None:
    """Raises `LakeMismatch` when the batch that is to be repeated ends before it begins: Spark planned it while the log
    was shorter than what was read. It can never be done.
    """
    planned = checkpoint.last_planned()
    if planned is None or is_in_ledger(planned, checkpoint.query_id(), last):
        return
    for part in checkpoint.ranges(planned):
        if part.end < part.start:
            raise LakeMismatch(
                f"{checkpoint.path} has planned a batch in which {part.topic}/{part.partition} ends at offset "
                f"{part.end}, before {part.start}, where it begins: the log was shorter for a while. Now that it is "
                f"whole, go on without that plan: `pts stream --new-checkpoint` {SEE}."
            )


def check_ledger(last: LedgerRow | None, checkpoint: Checkpoint) -> None:
    """Raises `LakeMismatch` when not the checkpoint was lost but the ledger."""
    if last is None and (committed := checkpoint.last_committed()) is not None:
        raise LakeMismatch(
            f"The checkpoint {checkpoint.path} has committed batch {committed}, but the ledger ops.batches has no "
            f"row. Restore ops.batches, or rebuild the lake from the log {SEE}."
        )


def is_in_ledger(number: int, query_id: str | None, last: LedgerRow | None) -> bool:
    """Whether a batch that a checkpoint has planned stands in the ledger, of which this is the newest row.

    Every checkpoint counts its batches from 0.
    """
    return last is not None and query_id == last.checkpoint_id and number <= last.checkpoint_batch_id


def check_promotions(lake_root: str) -> None:
    """Raises `LakeMismatch` when a replay's promotion was cut off: some tables are its, and some are not."""
    if cut_off := Replays(lake_root).cut_off():
        raise LakeMismatch(f"{half_done(cut_off[0])}.")


def check_archived(reached: Mapping[str, Offsets], begin: Offsets) -> None:
    """Raises `LogTruncated` when the log lost records that bronze, which follows the batches, was still to keep."""
    for topic, partitions in begin.items():
        table = ARCHIVES[topic].name
        for partition, offset in reached.get(table, {}).get(topic, {}).items():
            if offset < partitions[partition]:
                raise LogTruncated(
                    f"{topic}/{partition} begins at offset {partitions[partition]}, but {offset} is the next that "
                    f"{table} was to keep: the log lost {partitions[partition] - offset} records. Set "
                    "retention.ms=-1, and restore the topic from a backup."
                )


def check_partitions(topic: str, before: Iterable[int], now: Iterable[int]) -> None:
    """Raises `TopicMismatch` when a topic has other partitions than those the lake was built from."""
    if set(before) != set(now):
        raise TopicMismatch(
            f"Topic {topic} has partitions {sorted(now)}, but the lake was built from {sorted(before)}: records of one "
            "package would be in two. Create a topic with the old number, copy the records partition by partition, and "
            "build a new lake from it."
        )


def _reachable(start: Offsets, begin: Offsets, end: Offsets) -> Offsets:
    for topic, partitions in start.items():
        check_partitions(topic, partitions, end.get(topic, {}))
        for partition, offset in partitions.items():
            if offset < begin[topic][partition]:
                raise LogTruncated(
                    f"{topic}/{partition} begins at offset {begin[topic][partition]}, but {offset} is the next to be "
                    f"read: the log lost {begin[topic][partition] - offset} records. Set retention.ms=-1, and restore "
                    "the topic from a backup."
                )
    check_ends(start, end)
    return start


def check_ends(reached: Offsets, end: Offsets) -> None:
    """Raises `LogTruncated` when the log ends before what was read of it."""
    for topic, partitions in reached.items():
        for partition, offset in partitions.items():
            if offset > (ends_at := end.get(topic, {}).get(partition, 0)):
                raise LogTruncated(
                    f"{topic}/{partition} ends at offset {ends_at}, but the lake has read up to {offset}: the topic "
                    "was recreated, or the broker came back with an older log. Restore the topic, or build a new lake "
                    "from this log."
                )
