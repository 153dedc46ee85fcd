"""The live job lends the lake between two batches, and goes on from what it finds."""

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from pipelines.jobs.batch import maintenance_batch
from pipelines.jobs.stream import LiveJob
from pipelines.settings import Settings
from tests.batches import batches, new_lake, run, tables, write_checkpoint
from tests.cases import packed
from tests.comparison import expected_rows
from tests.test_order_free import drawn

PACK = packed(drawn(20))
BATCHES = batches(*PACK.batches)


def test_job_goes_on_after_a_command_that_had_the_lake_has_changed_tables_and_ledger(
    spark: SparkSession, tmp_path: Path
) -> None:
    settings = Settings(home=tmp_path, lake=str(tmp_path / "lake"))
    run(new_lake(spark, settings.lake_root), spark, PACK.records, BATCHES)
    write_checkpoint(tmp_path / "lake", BATCHES)

    class Lock:
        is_asked_for = True

        def lend(self) -> None:
            LiveJob(spark, settings).prepare(["gold.stop_activity"])

    lock: Any = Lock()
    job = LiveJob(spark, settings, lock)
    job.prepare(["gold.carrier_throughput"])
    assert job.last is not None
    stood = job.last.batch_id
    assert stood == len(BATCHES), "it has written a row itself"
    job._lend_if_asked()
    assert job.last.batch_id == stood + 1
    row = job._run(maintenance_batch(job.last, "rebuild", rebuilds=frozenset({"gold.carrier_throughput"})), spark)
    assert row.batch_id == stood + 2
    assert tables(job.lake) == expected_rows(PACK.records)
