"""Delta takes a transaction once, and silently leaves out what comes again under it: why a replay has a name."""

from pathlib import Path

from pyspark.sql import SparkSession

from tests.batches import batches, new_lake, run, tables
from tests.comparison import expected_rows
from tests.oracle.makers import scan

FIRST, SECOND = [scan(1, "10:00", offset=0)], [scan(2, "10:05", offset=1)]


def test_batches_from_0_under_the_identity_of_the_live_job_vanish_without_a_word(
    spark: SparkSession, tmp_path: Path
) -> None:
    """What a replay would do that reused the live job's checkpoint id: no error, and no row."""
    lake = new_lake(spark, str(tmp_path))
    run(lake, spark, FIRST, batches(FIRST, checkpoint="live"))
    again = batches(FIRST + SECOND, checkpoint="live")
    run(lake, spark, FIRST + SECOND, again)
    assert tables(lake) == expected_rows(FIRST)


def test_the_same_batches_under_a_name_of_their_own_are_written(spark: SparkSession, tmp_path: Path) -> None:
    lake = new_lake(spark, str(tmp_path))
    run(lake, spark, FIRST, batches(FIRST, checkpoint="live"))
    (_, second) = batches(FIRST, SECOND, checkpoint="replay")
    run(lake, spark, FIRST + SECOND, [second])
    assert tables(lake) == expected_rows(FIRST + SECOND)
