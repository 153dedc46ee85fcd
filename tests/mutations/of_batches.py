"""What a batch reads, what it adds to, how it is known again, and when it is refused."""

from tests.mutations.mutation import Mutation

GRAPH = "pipelines/graph.py"
ASKED = "pipelines/jobs/batch.py"
BATCH = "pipelines/jobs/micro_batch.py"
HEARD = "pipelines/jobs/heard.py"
ROW_SIZES = "pipelines/io/row_sizes.py"
CYCLE = "pipelines/jobs/cycle.py"
LAKE_JOB = "pipelines/jobs/lake_job.py"
POSITION = "pipelines/jobs/position.py"
LOSS = "pipelines/jobs/new_checkpoint.py"
WINDOWS = "pipelines/transforms/windows.py"
KAFKA = "pipelines/io/kafka_log.py"
LAKE = "pipelines/io/lake.py"
DELTA_RS = "pipelines/io/delta_rs.py"
LOCK = "pipelines/io/pid_lock.py"
LIVE_JOB = "pipelines/jobs/live_job.py"
SESSION = "pipelines/session.py"
SAME_LOG = "pipelines/jobs/same_log.py"
RECORD = "pipelines/tables/record.py"

REACH = "tests/jobs/test_reach.py"
A_WEEK_LATER = f"{REACH}::test_scan_told_again_seven_days_after_it_happened_is_a_duplicate_with_and_without_a_status"
AS_EARLY = f"{REACH}::test_scan_told_again_ten_minutes_before_it_happened_is_a_duplicate"
AN_HOUR = f"{REACH}::test_failure_told_late_is_counted_with_those_almost_an_hour_before_and_after_it"
OWN_PACE = f"{REACH}::test_tables_that_follow_at_their_own_pace_lose_no_batch_and_count_none_twice"
ANY_CUT = "tests/jobs/test_micro_batch.py::test_tables_equal_the_oracle_however_the_log_is_cut"
TRANSACTIONS = (
    "tests/jobs/test_micro_batch.py::test_transactions_of_two_checkpoints_two_flows_and_two_batches_are_never_the_same"
)
T_LAKE = "tests/io/test_lake.py"
ADD = f"{T_LAKE}::test_add_sums_the_measures_by_key_once_per_transaction_and_a_null_in_a_key_is_a_value"
APPEND = f"{T_LAKE}::test_append_adds_rows_once_per_transaction"
UNSET = f"{T_LAKE}::test_a_write_after_a_merge_is_not_taken_for_its_repeat"
CONSTRAINT = f"{T_LAKE}::test_constraint_refuses_a_row_that_breaks_it"
WITHIN = "tests/io/test_kafka_log.py::test_record_at_the_start_is_within_and_record_at_the_end_is_not"
MEASURES = "tests/test_graph.py::test_measures_are_added_where_there_are_some"
WAITS = "tests/test_graph.py::test_flow_waits_for_those_above_it_that_write_its_table_or_what_it_reads"
IN_SPARK = "tests/jobs/test_micro_batch.py::test_rows_of_large_records_stay_in_spark_and_make_the_same_tables"
NOT_TAKEN = "tests/io/test_row_sizes.py::test_rows_of_which_one_is_above_its_share_are_not_taken"
WITHIN_HEAP = (
    "tests/integration/test_process.py"
    "::test_large_records_are_held_written_and_read_within_a_heap_that_is_too_small_for_all_of_them"
)
T_CYCLE = "tests/jobs/test_cycle.py"
ONE_CYCLE = f"{T_CYCLE}::test_a_cycle_brings_all_to_the_batch_before_it_one_turn_in_a_batch"
T_FOLLOWING = "tests/jobs/test_following.py"
UP_TO = f"{T_FOLLOWING}::test_alerts_of_an_earlier_batch_do_not_count_later_scans"
TURN_AGAIN = f"{T_FOLLOWING}::test_turn_that_was_cut_off_is_completed_at_the_next_start"
TURNS_LEFT = (
    "tests/jobs/test_lending.py::test_turns_that_were_left_when_an_errand_brought_all_tables_further_are_not_taken"
)
HOURS = "tests/transforms/test_windows.py::test_hours_are_half_open_and_those_that_follow_each_other_are_one_range"
T_POSITION = "tests/jobs/test_position.py"
CANNOT_GO_ON = f"{T_POSITION}::test_log_that_does_not_hold_what_comes_next_is_refused"
T_SAME_LOG = "tests/jobs/test_same_log.py"
ANOTHER_RECORD = f"{T_SAME_LOG}::test_log_that_holds_another_record_where_the_lake_stands_is_refused"
CONTRADICTION = f"{T_POSITION}::test_ledger_and_checkpoint_that_contradict_each_other_are_refused"
BY_NUMBER = f"{T_POSITION}::test_a_batch_is_in_the_ledger_by_its_number_and_its_checkpoint"
T_LOSS = "tests/jobs/test_new_checkpoint.py"
GOES_ON = f"{T_LOSS}::test_job_goes_on_where_the_ledger_ends"
BACK = f"{T_LOSS}::test_what_the_lost_batch_has_written_is_taken_back[3]"
NO_LOG = f"{T_LOSS}::test_log_that_does_not_go_on_there_is_refused_before_anything_is_changed"
SECOND_JOB = "tests/io/test_live_lock.py::test_second_job_on_a_lake_is_refused_with_the_process_of_the_first"
NOT_GIVEN_BACK = (
    "tests/io/test_live_lock.py"
    "::test_job_that_lends_the_lake_says_who_has_it_until_it_is_back_or_a_stop_is_asked_for[True]"
)
STOPPED_WHILE_LENT = (
    "tests/jobs/test_lending.py::test_job_that_is_stopped_while_a_command_has_the_lake_ends_and_touches_nothing"
)
T_LIVE_JOB = "tests/jobs/test_live_job.py"
BESIDE = f"{T_LIVE_JOB}::test_what_fails_beside_a_batch_ends_the_job_when_spark_has_committed_the_batch"
NONE_BEGINS = f"{T_LIVE_JOB}::test_no_batch_begins_once_something_has_failed"
FIRST_FAILURE = f"{T_LIVE_JOB}::test_batch_that_failed_ends_the_job_with_the_first_failure"
NOT_BROUGHT_UP = f"{T_LIVE_JOB}::test_nothing_is_brought_up_after_a_batch_that_failed"
WITHOUT_JAVA = f"{T_LIVE_JOB}::test_job_whose_java_is_gone_waits_for_what_its_batch_still_does"
ERRAND_STAYS = f"{T_LIVE_JOB}::test_batch_that_takes_too_long_is_cut_off_by_a_stop_and_an_errand_is_not"

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
TRUNCATED = "A lost or truncated log stops the job"
PARTITIONS = "A changed partition count is refused"
AGREEMENT = "Ledger and checkpoint agree, or the start is refused"
LOST = "A lost checkpoint: the job goes on where the ledger ends, and takes back what the lost batch has written"
BOUNDARY = "The live job ends at a batch boundary, whatever ends it"
ONE_WRITER = "One writer: a second live job is refused"
LENT = "A job that has lent the lake can be stopped, whatever becomes of the command"
TRUTH = "Row-level truth is a CHECK constraint"
STAYS = "Rows of large records stay in Spark, however few they are, and Spark holds few of them"

WITHIN_SPANS = "tests/io/test_delta_rs.py::test_files_that_may_hold_values_of_a_span_are_named"
WITHOUT_STATISTICS = "tests/io/test_delta_rs.py::test_a_file_without_statistics_is_always_named"
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
        TRUNCATED, "records that are gone are skipped",
        POSITION, "if offset < begin[topic][partition]:", "if offset < 0:", f"{CANNOT_GO_ON}[truncated]",
    ),
    Mutation(
        TRUNCATED, "a log that is shorter than what was read is read on",
        POSITION, "if offset > (ends_at := end.get(topic, {}).get(partition, 0)):", "if (ends_at := -1) > offset:",
        f"{CANNOT_GO_ON}[shorter]",
    ),
    Mutation(
        TRUNCATED, "a log that ends where the lake stands is refused",
        POSITION, "if offset > (ends_at :=", "if offset >= (ends_at :=",
        f"{T_POSITION}::test_log_that_ends_just_where_the_lake_stands_is_accepted",
    ),
    Mutation(
        TRUNCATED, "nobody looks whether a running job's log becomes shorter",
        "pipelines/jobs/live_progress.py", "        check_ends(position, head)\n", "",
        "tests/jobs/test_live_progress.py::test_log_that_ends_before_what_was_read_of_it_ends_the_job",
    ),
    Mutation(
        TRUNCATED, "a log with other records is read on",
        SAME_LOG, "if there.get((topic, partition)) != message:", "if (topic, partition) not in there:",
        f"{ANOTHER_RECORD}[value]",
    ),
    Mutation(
        TRUNCATED, "a log that became another one is read on where it lacks the record",
        SAME_LOG, "there.get((topic, partition)) != message", "there.get((topic, partition), message) != message",
        f"{ANOTHER_RECORD}[none]",
    ),
    Mutation(
        TRUNCATED, "a record that the log has let go is missed",
        SAME_LOG, " if message.offset >= begin[topic][part]", "",
        f"{T_SAME_LOG}::test_record_that_the_log_has_let_go_is_not_compared",
    ),
    Mutation(
        TRUNCATED, "a transaction's end is taken for a record that nobody archived",
        SAME_LOG, "LOOK_BACK = 2", "LOOK_BACK = 1", f"{T_SAME_LOG}::test_end_of_a_transaction_is_no_record",
    ),
    Mutation(
        TRUNCATED, "records of a batch that was cut off are compared, too",
        SAME_LOG, "if message.offset < ends.get(message.partition, 0):", "if message.partition in ends:",
        f"{T_SAME_LOG}::test_log_that_holds_what_was_read_is_gone_on_with",
    ),
    Mutation(
        PARTITIONS, "partitions may be added",
        POSITION, "if set(before) != set(now):", "if not set(before) <= set(now):",
        f"{T_POSITION}::test_partitions_that_were_added_are_refused",
    ),
    Mutation(
        AGREEMENT, "any checkpoint will do",
        POSITION, "if query_id != last.checkpoint_id:", "if query_id is None:", f"{CONTRADICTION}[other checkpoint]",
    ),
    Mutation(
        AGREEMENT, "a ledger without rows begins anew under an old checkpoint",
        POSITION, "if last is None and (committed", "if last is None and not checkpoint.query_id() and (committed",
        f"{CONTRADICTION}[no ledger]",
    ),
    Mutation(
        AGREEMENT, "a new checkpoint may begin anywhere",
        POSITION, "(reached := checkpoint.start_offsets(number + 1)) != last.end_offsets",
        "(reached := checkpoint.start_offsets(number + 1)) != last.end_offsets and number >= 0",
        f"{CONTRADICTION}[other start]",
    ),
    Mutation(
        LOST, "a batch counts as done by its number alone",
        POSITION, "query_id == last.checkpoint_id and number", "number", BY_NUMBER,
    ),
    Mutation(
        LOST, "what the lost batch has written stays", LOSS, "return None if damage else version", "return None", BACK,
    ),
    Mutation(
        LOST, "a table goes back to what the lost batch has made of it",
        LOSS, "changes[0].version - 1 if changes", "changes[0].version if changes", BACK,
    ),
    Mutation(
        LOST, "the ledger does not learn that a table went back",
        LOSS, "changes[-1].version if _is_back(table, base, changes) else known.version", "known.version", BACK,
    ),
    Mutation(
        LOST, "a table that waits is told to have moved",
        LOSS, "batch_id if known.position == base.batch_id else known.position", "batch_id", GOES_ON,
    ),
    Mutation(
        LOST, "the new checkpoint begins where the log begins",
        LOSS, "checkpoint.begin(query_id, start)", "checkpoint.begin(query_id, begin)", GOES_ON,
    ),
    Mutation(
        LOST, "what is left of the old checkpoint is in the way",
        LOSS, "checkpoint.set_aside()", "pass", f"{T_LOSS}::test_new_checkpoint_begins_where_the_ledger_ends[foreign]",
    ),
    Mutation(
        LOST, "a table that is back already is taken for damaged",
        LOSS, "return bool(changes) and changes[-1]", "return not changes and changes[-1]",
        f"{T_LOSS}::test_start_that_was_cut_off_anywhere_is_ended_by_the_same_command_and_by_no_other",
    ),
    Mutation(
        LOST, "the old checkpoint goes on with tables of which some went back",
        "pipelines/jobs/intact.py", "change.transaction.writer == NEW_CHECKPOINT", "change.transaction.writer is None",
        f"{T_LOSS}::test_start_that_was_cut_off_is_known_also_when_the_old_checkpoint_comes_back",
    ),
    Mutation(
        LOST, "a checkpoint that fits is replaced",
        LOSS, "return NEW_CHECKPOINT not in writers and", "return NEW_CHECKPOINT in writers and",
        f"{T_LOSS}::test_when_nothing_is_lost_it_is_refused",
    ),
    Mutation(
        LOST, "the log need not go on where the ledger ends",
        LOSS, "starting_offsets(base, checkpoint, begin, end)", "base.end_offsets", NO_LOG,
    ),
    Mutation(
        LOST, "the log need not hold what bronze still has to keep",
        LOSS, "check_archived(Standing.after(last, ledger).reached, begin)", "pass", NO_LOG,
    ),
    Mutation(
        LOST, "an empty ledger begins where the log does now",
        LOSS, "if any(offset for partitions", "if all(offset for partitions",
        f"{T_LOSS}::test_lake_whose_first_batch_is_lost_is_refused_when_the_log_has_lost_its_beginning",
    ),
    Mutation(
        ONE_WRITER, "jobs share the lock",
        LOCK, "LOCK_EX | fcntl.LOCK_NB)\n            if", "LOCK_SH | fcntl.LOCK_NB)\n            if", SECOND_JOB,
    ),
    Mutation(
        LENT, "it waits until the command gives the lake back",
        "pipelines/io/live_lock.py", "while not stop.is_set():", "while True:",
        NOT_GIVEN_BACK,
    ),
    Mutation(
        LENT, "it goes on with tables that are the command's",
        LIVE_JOB,
        "            if not self._lock.lend(self._stop):\n                raise Stopped\n",
        "            self._lock.lend(self._stop)\n",
        STOPPED_WHILE_LENT,
    ),
    Mutation(
        LENT, "the stop is told as a failure of the batch",
        LIVE_JOB, "            except Stopped:\n                raise\n", "",
        STOPPED_WHILE_LENT,
    ),
    Mutation(
        BOUNDARY, "what fails beside a batch ends the job at once",
        LIVE_JOB, "        except Exception as error:\n            self._fail(error)\n        try:\n",
        "        except Exception:\n            raise\n        try:\n", BESIDE,
    ),
    Mutation(
        BOUNDARY, "Spark's own commit is not waited for",
        LIVE_JOB, 'while query.isActive and query.status["isTriggerActive"]:', "while self._under_way.locked():",
        BESIDE,
    ),
    Mutation(
        BOUNDARY, "batches begin after a failure",
        LIVE_JOB, "self._failure = self._failure or error\n        self._stop.set()",
        "self._failure = self._failure or error", NONE_BEGINS,
    ),
    Mutation(
        BOUNDARY, "a second failure hides the first",
        LIVE_JOB, "self._failure = self._failure or error", "self._failure = error", FIRST_FAILURE,
    ),
    Mutation(
        BOUNDARY, "tables are brought up after a failure",
        LIVE_JOB, "                if self._stop.is_set():\n                    return\n", "", NOT_BROUGHT_UP,
    ),
    Mutation(
        BOUNDARY, "an errand is cut off like a batch",
        LIVE_JOB, " and not self._is_on_errand", "", ERRAND_STAYS,
    ),
    Mutation(
        BOUNDARY, "what a batch still does without Java is not waited for",
        LIVE_JOB, "self._caller.join(STOP_GRACE_SECONDS)", "pass", WITHOUT_JAVA,
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
