"""A ledger that contradicts itself."""

from tests.checks.verify_defects.planting import EVENTS, ROUTES, Defect, again, drop, ledger, ledger_lacks
from tests.healthy_lake import HealthyLake


def _doubled_range(lake: HealthyLake) -> None:
    lake.ledger[0]["offsets"] *= 2


OF_THE_LEDGER = (
    Defect(
        "a batch is missing",
        "ledger_counts_batches_up",
        "where ops.batches should have batch 1, it has batch 2.",
        drop("ops.batches", batch_id=1),
    ),
    Defect(
        "a batch is there twice",
        "ledger_counts_batches_up",
        "where ops.batches should have batch 4, it has batch 3.",
        again("ops.batches", batch_id=3),
    ),
    Defect(
        "a partition is gone",
        "ledger_keeps_its_partitions",
        "batch 1 has 0 ranges of ship-events/1, expected 1: the partitions of the batch before it, each once.",
        ledger_lacks(1, "offsets", **EVENTS, kafka_partition=1),
    ),
    Defect(
        "a batch has each partition twice",
        "ledger_keeps_its_partitions",
        "batch 0 has 2 ranges of ship-events/0, expected 1: the partitions of the batch before it, each once.",
        _doubled_range,
    ),
    Defect(
        "a topic is not counted",
        "ledger_counts_each_topic",
        "batch 1 has 0 entries of counts for ship-routes, and by its offsets should have 1.",
        ledger_lacks(1, "counts", **ROUTES),
    ),
    Defect(
        "offsets are left out between two batches",
        "ledger_ranges_meet",
        "batch 1 starts ship-events/0 at offset 5, but the batch before it ended at 4, so that ship-events/0@4 is in "
        "no batch.",
        ledger(1, "offsets", {"start_offset": 5}, **EVENTS, kafka_partition=0),
    ),
    Defect(
        "offsets are in two batches",
        "ledger_ranges_meet",
        "batch 1 starts ship-events/0 at offset 2, but the batch before it ended at 4, so that ship-events/0@2 is in "
        "two batches.",
        ledger(1, "offsets", {"start_offset": 2}, **EVENTS, kafka_partition=0),
    ),
    Defect(
        "a range goes backwards",
        "ledger_ranges_go_forward",
        "batch 4 ends ship-events/0 at offset 6, before its start 7.",
        ledger(4, "offsets", {"end_offset": 6}, **EVENTS, kafka_partition=0),
    ),
    Defect(
        "a count is below 0",
        "ledger_counts_are_not_negative",
        "batch 3 counts, of ship-events, 1 read, 2 accepted, -1 duplicate and 0 quarantined records, "
        "and one of these is below 0.",
        ledger(3, "counts", {"accepted_count": 2, "duplicate_count": -1}, **EVENTS),
    ),
    Defect(
        "counts do not add up",
        "ledger_counts_add_up",
        "batch 1 read 15 records of ship-events, but accounts for 16: 14 accepted, 2 duplicate, 0 quarantined.",
        ledger(1, "counts", {"duplicate_count": 2}, **EVENTS),
    ),
    Defect(
        "more is read than there is",
        "ledger_reads_within_its_ranges",
        "batch 3 read 3 records of ship-events, but its ranges have only 1 offsets.",
        ledger(3, "counts", {"read_count": 3, "accepted_count": 3}, **EVENTS),
    ),
    Defect(
        "a table is ahead of its batch",
        "ledger_positions_are_reached",
        "by batch 4 silver.quarantine has position 5, a batch that was still to come.",
        ledger(4, "tables", {"position": 5}, table_name="silver.quarantine"),
    ),
    Defect(
        "a table goes back",
        "ledger_positions_never_go_back",
        "by batch 4 gold.stop_activity has position 1, but by the batch before it 3.",
        ledger(4, "tables", {"position": 1}, table_name="gold.stop_activity"),
    ),
)
