"""What a batch reads, what it adds to, and how it is known again."""

from lab.mutations.mutation import Mutation

GRAPH = "pipelines/graph.py"
ASKED = "pipelines/engine/batch.py"
BATCH = "pipelines/engine/micro_batch.py"
HEARD = "pipelines/engine/judged_batch.py"
ROW_SIZES = "pipelines/io/delta/row_sizes.py"
CYCLE = "pipelines/engine/schedule.py"
LAKE_JOB = "pipelines/engine/runner.py"
WINDOWS = "pipelines/transforms/windows.py"
KAFKA = "pipelines/io/kafka/log.py"
LAKE = "pipelines/io/delta/lake.py"
DELTA_RS = "pipelines/io/delta/delta_rs.py"
SESSION = "pipelines/session.py"
RECORD = "pipelines/tables/record.py"

REACH = "tests/engine/test_reach.py"
A_WEEK_LATER = f"{REACH}::test_scan_told_again_seven_days_after_it_happened_is_a_duplicate_with_and_without_a_status"
AS_EARLY = f"{REACH}::test_scan_told_again_ten_minutes_before_it_happened_is_a_duplicate"
AN_HOUR = f"{REACH}::test_failure_told_late_is_counted_with_those_almost_an_hour_before_and_after_it"
OWN_PACE = f"{REACH}::test_tables_that_follow_at_their_own_pace_lose_no_batch_and_count_none_twice"
MICRO_BATCH = "tests/engine/test_micro_batch.py"
ANY_CUT = f"{MICRO_BATCH}::test_tables_equal_the_oracle_however_the_log_is_cut"
TRANSACTIONS = f"{MICRO_BATCH}::test_transactions_of_two_checkpoints_two_flows_and_two_batches_are_never_the_same"
T_LAKE = "tests/io/delta/test_lake.py"
ADD = f"{T_LAKE}::test_add_sums_the_measures_by_key_once_per_transaction_and_a_null_in_a_key_is_a_value"
APPEND = f"{T_LAKE}::test_append_adds_rows_once_per_transaction"
UNSET = f"{T_LAKE}::test_a_write_after_a_merge_is_not_taken_for_its_repeat"
CONSTRAINT = f"{T_LAKE}::test_constraint_refuses_a_row_that_breaks_it"
WITHIN = "tests/io/kafka/test_log.py::test_record_at_the_start_is_within_and_record_at_the_end_is_not"
MEASURES = "tests/test_graph.py::test_measures_are_added_where_there_are_some"
WAITS = "tests/test_graph.py::test_flow_waits_for_those_above_it_that_write_its_table_or_what_it_reads"
IN_SPARK = f"{MICRO_BATCH}::test_rows_of_large_records_stay_in_spark_and_make_the_same_tables"
NOT_TAKEN = "tests/io/delta/test_row_sizes.py::test_rows_of_which_one_is_above_its_share_are_not_taken"
WITHIN_HEAP = (
    "tests/integration/test_process.py"
    "::test_large_records_are_held_written_and_read_within_a_heap_that_is_too_small_for_all_of_them"
)
T_CYCLE = "tests/engine/test_schedule.py"
ONE_CYCLE = f"{T_CYCLE}::test_a_cycle_brings_all_to_the_batch_before_it_one_turn_in_a_batch"
T_FOLLOWING = "tests/live/test_following.py"
UP_TO = f"{T_FOLLOWING}::test_alerts_of_an_earlier_batch_do_not_count_later_scans"
TURN_AGAIN = f"{T_FOLLOWING}::test_turn_that_was_cut_off_is_completed_at_the_next_start"
TURNS_LEFT = (
    "tests/live/test_lending.py::test_turns_that_were_left_when_an_errand_brought_all_tables_further_are_not_taken"
)
HOURS = "tests/transforms/test_windows.py::test_hours_are_half_open_and_those_that_follow_each_other_are_one_range"

WHATEVER_DISTANCE = "Of equal scans the one with the lowest offset is kept, whatever the distance"
CORRECTED = "A late failure corrects the alerts that follow it, and counts those before it"
DECIDED_ONCE = "A fold takes the scans that are new from silver by offset range"
SUMS = "Counts of two batches add up"
OWN_CADENCE = "A table may take several batches at once; its position is a batch boundary"
LEDGER = "The ledger counts records read, accepted, duplicate and quarantined"
EXACTLY_ONCE = "Exactly once: each write carries (txnAppId, txnVersion), with the checkpoint's identity"
OFFSETS = "Ranges of the log are half-open `[start, end)`"
CADENCES = "Two cadences: what follows is brought to one batch, one turn in each of the next ones"
SIDE_BY_SIDE = "Flows run side by side, once those above them are done that they need"
TRUTH = "Row-level truth is a CHECK constraint"
STAYS = "Rows of large records stay in Spark, however few they are, and Spark holds few of them"

WITHIN_SPANS = "tests/io/delta/test_delta_rs.py::test_files_that_may_hold_values_of_a_span_are_named"
WITHOUT_STATISTICS = "tests/io/delta/test_delta_rs.py::test_a_file_without_statistics_is_always_named"
_HOURS = "hour_spans(heard.hours)"
_AROUND = "between(begin - F.lit(margin), end + F.lit(margin))"
_TRANSACTION = 'Transaction(f"{self.writer}/{flow}", max(self.checkpoint_batch_id, 0))'

MUTATIONS = (
    Mutation(
        WHATEVER_DISTANCE, "only scans of the batch's first hour are looked for among earlier ones",
        BATCH, _HOURS, "hour_spans(sorted(heard.hours)[:1])", AS_EARLY,
    ),
    Mutation(
        WHATEVER_DISTANCE, "only scans of the batch's last hour are looked for among earlier ones",
        BATCH, _HOURS, "hour_spans(sorted(heard.hours)[-1:])", A_WEEK_LATER,
    ),
    Mutation(
        WHATEVER_DISTANCE, "an accepted scan is not looked for among earlier ones",
        HEARD, "identities=accepted.select", "identities=accepted.slice(1).select", A_WEEK_LATER,
    ),
    Mutation(
        WHATEVER_DISTANCE, "of hours that follow each other only the last is looked at",
        WINDOWS, "ranges.pop()[0] if", "(ranges.pop() and number) if", HOURS,
    ),
    Mutation(
        WHATEVER_DISTANCE, "the first moment after an hour is looked at, too",
        WINDOWS, "(time < after)", "(time <= after)", HOURS,
    ),
    Mutation(
        WHATEVER_DISTANCE, "the first moment of an hour is not looked at",
        WINDOWS, "(time >= first)", "(time > first)", HOURS,
    ),
    Mutation(
        WHATEVER_DISTANCE, "a file's greatest time is taken at its word, which is cut off",
        DELTA_RS, "high + COARSE >= begin", "high >= begin", WITHIN_SPANS,
    ),
    Mutation(
        WHATEVER_DISTANCE, "a file without statistics is left out",
        DELTA_RS, "if low is None or high is None or any(", "if low is not None and high is not None and any(",
        WITHOUT_STATISTICS,
    ),
    Mutation(
        CORRECTED, "scans are read two microseconds less than an hour back",
        BATCH, _AROUND, "between(begin - F.lit(margin - timedelta(microseconds=2)), end + F.lit(margin))", AN_HOUR,
    ),
    Mutation(
        CORRECTED, "scans are read two microseconds less than an hour ahead",
        BATCH, _AROUND, "between(begin - F.lit(margin), end + F.lit(margin - timedelta(microseconds=2)))", AN_HOUR,
    ),
    Mutation(
        CORRECTED, "nothing is read around new scans",
        GRAPH, "Around(NEW_SCANS, ALERT_WINDOW)", "Around(NEW_SCANS, timedelta(0))", AN_HOUR,
    ),
    Mutation(
        DECIDED_ONCE, "it takes all of silver",
        BATCH, "return self._added(read.table, self._unfolded(flow, read.topic))",
        "return self._lake.read(read.table)", OWN_PACE,
    ),
    Mutation(
        DECIDED_ONCE, "it always takes what the batch wrote",
        BATCH, "return all(part in self._batch.ranges for part in self._unfolded(flow, read.topic))", "return True",
        OWN_PACE,
    ),
    Mutation(
        DECIDED_ONCE, "it takes what the batch holds, not what the table lacks",
        BATCH, "return _of(topic, ranges_between(reached, self._reach(flow).offsets))", "return self._batch.ranges",
        OWN_PACE,
    ),
    Mutation(
        SUMS, "the table's counts are replaced by the batch's",
        BATCH, 'fold = self._lake.merge if flow.write == "merge" else self._lake.add', "fold = self._lake.merge",
        OWN_PACE,
    ),
    Mutation(
        SUMS, "stop activity replaces rows",
        GRAPH, 'stop_activity, (NEW_SCANS,), write="add"', 'stop_activity, (NEW_SCANS,), write="merge"', MEASURES,
    ),
    Mutation(
        SUMS, "what the table had is forgotten",
        LAKE, 'F.col(f"target.{name}") + F.col(f"source.{name}")', 'F.col(f"source.{name}")', ADD,
    ),
    Mutation(
        SUMS, "a null in a key is not the same as a null",
        LAKE, 'f"target.{name} <=> source.{name}"', 'f"target.{name} = source.{name}"', ADD,
    ),
    Mutation(
        OWN_CADENCE, "a table that waits is told to have moved",
        BATCH, "return before\n", "return replace(before, position=self._batch.batch_id)\n", OWN_PACE,
    ),
    Mutation(
        LEDGER, "rejected records are counted as duplicates, too",
        BATCH, "heard.read_count - accepted - heard.rejected_count", "heard.read_count - accepted", ANY_CUT,
    ),
    Mutation(
        DECIDED_ONCE, "the reports that new scans touch are looked for by the routes alone",
        BATCH, "for read in flow.reads if isinstance(read, New) for name in self._files_of_new(flow, read)",
        "for read in flow.reads[1:] if isinstance(read, New) for name in self._files_of_new(flow, read)", ANY_CUT,
    ),
    Mutation(
        EXACTLY_ONCE, "without the checkpoint",
        ASKED, _TRANSACTION, "Transaction(flow, self.checkpoint_batch_id)", TRANSACTIONS,
    ),
    Mutation(
        EXACTLY_ONCE, "without the flow",
        ASKED, _TRANSACTION, "Transaction(self.writer, self.checkpoint_batch_id)", TRANSACTIONS,
    ),
    Mutation(
        EXACTLY_ONCE, "a new name for each attempt",
        ASKED, _TRANSACTION, 'Transaction(f"{self.writer}/{flow}/{uuid.uuid4()}", self.checkpoint_batch_id)',
        TRANSACTIONS,
    ),
    Mutation(
        EXACTLY_ONCE, "every batch has the same number",
        ASKED, _TRANSACTION, 'Transaction(f"{self.writer}/{flow}", 0)', TRANSACTIONS,
    ),
    Mutation(
        EXACTLY_ONCE, "an append carries none",
        LAKE, '.option("txnAppId", transaction.app_id).option("txnVersion", transaction.version)', "", APPEND,
    ),
    Mutation(
        EXACTLY_ONCE, "a merge carries none",
        LAKE, 'self.spark.conf.set(f"spark.databricks.delta.write.{name}", value)', "value", ADD,
    ),
    Mutation(
        EXACTLY_ONCE, "a small write does not look whether it was done",
        DELTA_RS, "newest >= transaction.version", "newest > transaction.version", ADD,
    ),
    Mutation(
        EXACTLY_ONCE, "a small write carries none",
        DELTA_RS, "app_transactions=[AppTransaction(transaction.app_id, transaction.version)]", "", ADD,
    ),
    Mutation(
        EXACTLY_ONCE, "what follows a merge carries its transaction, too",
        LAKE, 'self.spark.conf.unset(f"spark.databricks.delta.write.{name}")', "pass", UNSET,
    ),
    Mutation(
        OFFSETS, "the end is within",
        KAFKA, 'F.col("kafka_offset") < part.end', 'F.col("kafka_offset") <= part.end', WITHIN,
    ),
    Mutation(
        OFFSETS, "the start is not within",
        KAFKA, 'F.col("kafka_offset") >= part.start', 'F.col("kafka_offset") > part.start', WITHIN,
    ),
    Mutation(
        OFFSETS, "any partition is within",
        KAFKA, '((F.col("kafka_partition") == part.partition) & in_range)', "in_range", WITHIN,
    ),
    Mutation(
        CADENCES, "turns go up to the batch before each",
        CYCLE, "Following((self._left.pop(0),), self._up_to)", "Following((self._left.pop(0),), Reach.of(last))",
        ONE_CYCLE,
    ),
    Mutation(
        CADENCES, "turns are taken that were left when another command brought all tables further",
        LAKE_JOB,
        "        self._cycle.begin_anew()\n        if self.lake.exists(", "        if self.lake.exists(",
        TURNS_LEFT,
    ),
    Mutation(
        CADENCES, "all turns are taken at once",
        CYCLE, "Following((self._left.pop(0),), self._up_to)", "Following(tuple(self._left), self._up_to)", ONE_CYCLE,
    ),
    Mutation(
        CADENCES, "a cycle follows the other without a pause",
        CYCLE, "self._clock() - self._began < self._pace", "False", ONE_CYCLE,
    ),
    Mutation(
        CADENCES, "a scan after the batch up to which a turn goes is counted in its alerts",
        BATCH, "ranges_between({}, self._reach(flow).offsets)", "ranges_between({}, self._batch.reach.offsets)", UP_TO,
    ),
    Mutation(
        CADENCES, "a turn that was cut off is not known again",
        ASKED, 'Transaction(f"{self.checkpoint_id}/{flow}", self.following.up_to.batch_id)',
        'Transaction(f"{self.checkpoint_id}/{flow}/{uuid.uuid4()}", self.following.up_to.batch_id)', TURN_AGAIN,
    ),
    Mutation(
        SIDE_BY_SIDE, "a flow does not wait for what it reads",
        GRAPH, "any(other.into in tables_read(read) for read in self.reads)", "False", WAITS,
    ),
    Mutation(
        SIDE_BY_SIDE, "two flows write one table at once", GRAPH, "other.into == self.into or any", "any", WAITS,
    ),
    Mutation(
        TRUTH, "tables are created without",
        RECORD, 'return properties | {f"delta.constraints.{name}": rule for name, rule in self.constraints.items()}',
        "return properties", CONSTRAINT,
    ),
    Mutation(
        STAYS, "judged records are taken out whatever their size",
        HEARD, "marked(records, RAW, expected)", "marked(records, (), expected)", IN_SPARK,
    ),
    Mutation(
        STAYS, "what was archived or counted of earlier batches is taken out whatever its size",
        LAKE, "marked(rows, long, expected)", "marked(rows, (), expected)", IN_SPARK,
    ),
    Mutation(
        STAYS, "of two columns one has no size",
        ROW_SIZES, "for name in long), F.lit(0))", "for name in long[1:]), F.lit(0))",
        f"{NOT_TAKEN}[large2]",
    ),
    Mutation(
        STAYS, "headers have no size", ROW_SIZES, "F.when(F.size(name) > 0, ", "F.when(F.size(name) < 0, ",
        f"{NOT_TAKEN}[large3]",
    ),
    Mutation(
        STAYS, "what is written to disk stays in memory, too",
        SESSION, 'objectStreamReset": "1"', 'objectStreamReset": "100"', WITHIN_HEAP,
    ),
    Mutation(
        STAYS, "a reader holds a hundred of them",
        SESSION, 'columnarReaderBatchSize": "16"', 'columnarReaderBatchSize": "128"', WITHIN_HEAP,
    ),
    Mutation(
        STAYS, "what a reader holds doubles",
        SESSION, 'hugeVectorThreshold": "8m"', 'hugeVectorThreshold": "-1"', WITHIN_HEAP,
    ),
    Mutation(
        STAYS, "a writer does not look at sizes",
        SESSION, 'page.size.row.check.min": "1"', 'page.size.row.check.min": "100"', WITHIN_HEAP,
    ),
)  # fmt: skip
