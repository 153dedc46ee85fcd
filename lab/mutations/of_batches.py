"""What a batch reads, what it adds to, and how it is known again."""

from lab.mutations.mutation import Mutation

GRAPH = "pipelines/graph.py"
ASKED = "pipelines/engine/batch.py"
BATCH = "pipelines/engine/micro_batch.py"
INPUTS = "pipelines/engine/flow_inputs.py"
TASKS = "pipelines/engine/record_tasks.py"
SCHEDULE = "pipelines/engine/schedule.py"
RUNNER = "pipelines/engine/runner.py"
WINDOWS = "pipelines/transforms/windows.py"
KAFKA = "pipelines/io/kafka/log.py"
LAKE = "pipelines/io/delta/lake.py"
DELTA_RS = "pipelines/io/delta/delta_rs.py"
SIGNATURE = "pipelines/io/delta/signature.py"
DELTA_TABLE = "pipelines/io/delta/delta_table.py"
DATA_FILES = "pipelines/io/delta/data_files.py"
RECORD = "pipelines/tables/record.py"
NEWEST = "pipelines/queries/newest.py"
SWAP = "pipelines/replay/swap.py"
BUILD = "pipelines/replay/build.py"

REACH = "tests/engine/test_positions.py"
A_WEEK_LATER = f"{REACH}::test_scan_told_again_seven_days_after_it_happened_is_a_duplicate_with_and_without_a_status"
AS_EARLY = f"{REACH}::test_scan_told_again_ten_minutes_before_it_happened_is_a_duplicate"
AN_HOUR = f"{REACH}::test_failure_told_late_is_counted_with_those_almost_an_hour_before_and_after_it"
OWN_PACE = f"{REACH}::test_catch_up_tables_lose_no_batch_and_count_none_twice"
MICRO_BATCH = "tests/engine/test_micro_batch.py"
ANY_CUT = f"{MICRO_BATCH}::test_tables_equal_the_oracle_however_the_log_is_cut"
TRANSACTIONS = f"{MICRO_BATCH}::test_transactions_of_two_checkpoints_two_flows_and_two_batches_are_never_the_same"
T_LAKE = "tests/io/delta/test_lake.py"
ADD = f"{T_LAKE}::test_add_sums_the_measures_by_key_once_per_transaction_and_a_null_in_a_key_is_a_value"
CHECKPOINT = f"{T_LAKE}::test_log_gets_a_checkpoint_before_it_is_long"
CONSTRAINT = f"{T_LAKE}::test_row_that_breaks_a_condition_or_lacks_a_required_column_is_refused"
PORTIONS = f"{T_LAKE}::test_files_are_rewritten_in_portions_and_each_new_row_with_one_of_them"
LEFT_ALONE = f"{T_LAKE}::test_merge_leaves_files_as_they_are_that_have_none_of_its_keys"
BY_OTHERS = f"{T_LAKE}::test_other_readers_and_writers_take_the_files_as_their_own"
OPENED_AGAIN = (
    "tests/io/delta/test_delta_table.py::test_table_that_stays_open_is_opened_again_before_its_commits_are_many"
)
WHOEVER_COMMITS = "tests/io/delta/test_delta_table.py::test_transactions_are_those_of_the_log_whoever_commits"
WITHIN = "tests/io/kafka/test_log.py::test_record_at_the_start_is_within_and_record_at_the_end_is_not"
MEASURES = "tests/test_graph.py::test_measures_are_added_where_there_are_some"
WAITS = "tests/test_graph.py::test_flow_waits_for_those_above_it_that_write_its_table_or_what_it_reads"
IN_TWO = f"{MICRO_BATCH}::test_scan_that_two_partitions_tell_is_kept_once"
T_SCHEDULE = "tests/engine/test_schedule.py"
ONE_ROUND = f"{T_SCHEDULE}::test_a_round_brings_all_to_the_batch_before_it_one_group_in_a_batch"
T_CATCH_UP = "tests/live/test_catch_up.py"
UP_TO = f"{T_CATCH_UP}::test_alerts_of_an_earlier_batch_do_not_count_later_scans"
CATCH_UP_AGAIN = f"{T_CATCH_UP}::test_catch_up_that_was_cut_off_is_completed_at_the_next_start"
GROUPS_LEFT = (
    "tests/live/test_handover.py"
    "::test_groups_that_were_left_when_a_delegated_command_brought_all_tables_further_are_not_taken"
)
T_DEFERRAL = "tests/engine/test_deferral.py"
WAITS_FOR_ROUND = f"{T_DEFERRAL}::test_large_table_stays_until_a_round_begins_and_is_then_that_of_the_batch"
TELLS_THE_SAME = f"{T_DEFERRAL}::test_messages_tell_of_each_batch_what_they_tell_of_a_small_table"
MADE_UP_FOR = f"{T_DEFERRAL}::test_questions_are_answered_from_what_is_stored_and_from_what_waits"
BACK_AS_A_WHOLE = f"{T_DEFERRAL}::test_package_that_was_removed_comes_back_as_a_whole"
AS_DECIDED = f"{T_DEFERRAL}::test_batch_that_was_cut_off_ends_as_it_was_decided_although_the_table_is_large_now"
IN_TIME = f"{T_DEFERRAL}::test_a_batch_with_many_new_rows_does_not_wait"
BROUGHT_UP = "tests/replay/test_promote.py::test_large_reports_that_wait_are_brought_up_on_both_sides_before_the_swap"
BEGINS_WITH = f"{T_SCHEDULE}::test_a_round_begins_with_a_batch_that_brings_up_a_large_table_which_waited"
HOURS = "tests/transforms/test_windows.py::test_hours_are_half_open_and_those_that_follow_each_other_are_one_range"

WHATEVER_DISTANCE = "Of equal scans the one with the lowest offset is kept, whatever the distance"
CORRECTED = "A late failure corrects the alerts that follow it, and counts those before it"
DECIDED_ONCE = "A fold takes the scans that are new from silver by offset range"
SUMS = "Counts of two batches add up"
OWN_CADENCE = "A table may take several batches at once; its position is a batch boundary"
LEDGER = "The ledger counts records read, accepted, duplicate and quarantined"
EXACTLY_ONCE = "Exactly once: each write carries (txnAppId, txnVersion), with the checkpoint's identity"
OFFSETS = "Ranges of the log are half-open `[start, end)`"
CADENCES = "Two cadences: catch-up tables are brought to one batch, one group in each of the next ones"
DEFERRED = "A large table takes several batches at once; messages and questions do not wait"
SIDE_BY_SIDE = "Flows run side by side, once those above them are done that they need"
TRUTH = "Row-level truth is a CHECK constraint"
IN_ONE_PARTITION = "A task decides for its partitions; what two tasks have kept is looked through once more"
TOUCHED = "A merge costs what it touches"
STATISTICS = "Files carry the statistics by which readers skip them"
SHORT_LOG = "What a look at a table costs does not grow with the batches that were"

WITHIN_SPANS = "tests/io/delta/test_delta_rs.py::test_files_that_may_hold_values_of_a_span_are_named"
WITHOUT_STATISTICS = "tests/io/delta/test_delta_rs.py::test_a_file_without_statistics_is_always_named"
_HOURS = "hour_spans(hour for (hour,) in hours)"
_AROUND = "(begin - reach, end + reach)"
_TRANSACTION = 'Transaction(f"{self.writer}/{flow}", max(self.checkpoint_batch_id, 0)'

MUTATIONS = (
    Mutation(
        WHATEVER_DISTANCE, "only scans of the batch's first hour are looked for among earlier ones",
        WINDOWS, _HOURS, "hour_spans(hour for (hour,) in sorted(hours)[:1])", AS_EARLY,
    ),
    Mutation(
        WHATEVER_DISTANCE, "only scans of the batch's last hour are looked for among earlier ones",
        WINDOWS, _HOURS, "hour_spans(hour for (hour,) in sorted(hours)[-1:])", A_WEEK_LATER,
    ),
    Mutation(
        WHATEVER_DISTANCE, "an accepted scan is not looked for among earlier ones",
        TASKS, "rows_of(flow.into, there)", "rows_of(flow.into, there[1:])", A_WEEK_LATER,
    ),
    Mutation(
        WHATEVER_DISTANCE, "the hour before the epoch is taken for the first",
        WINDOWS, "epoch_us({tumbling_start(time, timedelta(hours=1))}) //", "epoch_us({time}) //", HOURS,
    ),
    Mutation(
        WHATEVER_DISTANCE, "of hours that follow each other only the last is looked at",
        WINDOWS, "ranges.pop()[0] if", "(ranges.pop() and hour) if", HOURS,
    ),
    Mutation(
        WHATEVER_DISTANCE, "the first moment after an hour is looked at, too",
        WINDOWS, "end * MICROS_PER_HOUR", "end * MICROS_PER_HOUR + 1", HOURS,
    ),
    Mutation(
        WHATEVER_DISTANCE, "the first moment of an hour is not looked at",
        WINDOWS, "(begin * MICROS_PER_HOUR", "(begin * MICROS_PER_HOUR + 1", HOURS,
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
        CORRECTED, "scans of the hour before a failure's are not read",
        INPUTS, _AROUND, "(begin, end + reach)", AN_HOUR,
    ),
    Mutation(
        CORRECTED, "scans of the hour after a failure's are not read",
        INPUTS, _AROUND, "(begin - reach, end)", AN_HOUR,
    ),
    Mutation(
        CORRECTED, "nothing is read around new scans",
        GRAPH, "Around(NEW_SCANS, ALERT_WINDOW, FAILED)", "Around(NEW_SCANS, timedelta(0), FAILED)", AN_HOUR,
    ),
    Mutation(
        DECIDED_ONCE, "it takes all of silver",
        INPUTS, "return self._added(table, self.unfolded(flow, topic))", "return self._lake.rows(table)", OWN_PACE,
    ),
    Mutation(
        DECIDED_ONCE, "it always takes what the batch wrote",
        INPUTS, "if all(part in self._batch.ranges for part in self.unfolded(flow, topic)):", "if True:", OWN_PACE,
    ),
    Mutation(
        DECIDED_ONCE, "it takes what the batch holds, not what the table lacks",
        INPUTS, "return of_topic(topic, ranges_between(reached, self.up_to(flow).offsets))",
        "return self._batch.ranges", OWN_PACE,
    ),
    Mutation(
        SUMS, "the table's counts are replaced by the batch's",
        BATCH, 'fold = self._lake.merge if flow.write == "merge" else self._lake.add', "fold = self._lake.merge",
        OWN_PACE,
    ),
    Mutation(
        SUMS, "stop activity replaces rows",
        GRAPH, 'STOP_ACTIVITY, {"scans": NEW_SCANS}, write="add"',
        'STOP_ACTIVITY, {"scans": NEW_SCANS}, write="merge"', MEASURES,
    ),
    Mutation(
        SUMS, "what the table had is forgotten",
        LAKE, "merged.{name} + coalesce(there.{name}, 0) AS {name}", "merged.{name} AS {name}", ADD,
    ),
    Mutation(
        SUMS, "a null in a key is not the same as a null",
        LAKE, "'=' if key in required else 'IS NOT DISTINCT FROM'", "'='", ADD,
    ),
    Mutation(
        OWN_CADENCE, "a table that waits is told to have moved",
        BATCH, "return before\n",
        "return TableState(before.version, self._batch.batch_id, before.expired_before)\n", OWN_PACE,
    ),
    Mutation(
        LEDGER, "rejected records are counted as duplicates, too",
        BATCH, "found.read_count - accepted - found.rejected_count", "found.read_count - accepted", ANY_CUT,
    ),
    Mutation(
        EXACTLY_ONCE, "without the checkpoint",
        ASKED, _TRANSACTION, "Transaction(flow, self.checkpoint_batch_id", TRANSACTIONS,
    ),
    Mutation(
        EXACTLY_ONCE, "without the flow",
        ASKED, _TRANSACTION, "Transaction(self.writer, self.checkpoint_batch_id", TRANSACTIONS,
    ),
    Mutation(
        EXACTLY_ONCE, "a new name for each attempt",
        ASKED, _TRANSACTION, 'Transaction(f"{self.writer}/{flow}/{uuid.uuid4()}", self.checkpoint_batch_id',
        TRANSACTIONS,
    ),
    Mutation(
        EXACTLY_ONCE, "every batch has the same number",
        ASKED, _TRANSACTION, 'Transaction(f"{self.writer}/{flow}", 0', TRANSACTIONS,
    ),
    Mutation(
        EXACTLY_ONCE, "a write does not look whether it was done",
        DELTA_RS, "newest >= transaction.version", "newest > transaction.version", ADD,
    ),
    Mutation(
        EXACTLY_ONCE, "what was known of an older version is taken for that of a commit's",
        DELTA_TABLE, "if self._found_at == before:", "if True:", WHOEVER_COMMITS,
    ),
    Mutation(
        EXACTLY_ONCE, "what others have committed is not looked for",
        DELTA_TABLE, "if self._found_at != (version := self.version()):", "if (version := self.version()) < 0:",
        WHOEVER_COMMITS,
    ),
    Mutation(
        EXACTLY_ONCE, "a write carries none",
        SIGNATURE, "[AppTransaction(transaction.app_id, transaction.version)] if transaction else []", "[]", ADD,
    ),
    Mutation(
        OFFSETS, "the end is within",
        KAFKA, "{offset} < {part.end}", "{offset} <= {part.end}", WITHIN,
    ),
    Mutation(
        OFFSETS, "the start is not within",
        KAFKA, "{offset} >= {part.start}", "{offset} > {part.start}", WITHIN,
    ),
    Mutation(
        OFFSETS, "any partition is within",
        KAFKA, "({partition} = {part.partition} AND ", "(", WITHIN,
    ),
    Mutation(
        CADENCES, "groups go up to the batch before each",
        SCHEDULE, "CatchUp((self._left.pop(0),), self._up_to)", "CatchUp((self._left.pop(0),), LogPosition.of(last))",
        ONE_ROUND,
    ),
    Mutation(
        CADENCES, "groups are brought up that were left when another command brought all tables further",
        "pipelines/live/live_job.py", "self.runner.schedule.restart(", "dict(", GROUPS_LEFT,
    ),
    Mutation(
        CADENCES, "all groups are brought up at once",
        SCHEDULE, "CatchUp((self._left.pop(0),), self._up_to)", "CatchUp(tuple(self._left), self._up_to)", ONE_ROUND,
    ),
    Mutation(
        CADENCES, "a round comes after the other without a pause",
        SCHEDULE, "self._clock() - self._began < self._interval_seconds", "False", ONE_ROUND,
    ),
    Mutation(
        CADENCES, "a scan after the batch up to which a catch-up goes is counted in its alerts",
        INPUTS, "ranges_between({}, self.up_to(flow).offsets)", "ranges_between({}, self._batch.end_position.offsets)",
        UP_TO,
    ),
    Mutation(
        CADENCES, "a catch-up that was cut off is not known again",
        ASKED, 'Transaction(f"{self.checkpoint_id}/{flow}", self.catch_up.up_to.batch_id',
        'Transaction(f"{self.checkpoint_id}/{flow}/{uuid.uuid4()}", self.catch_up.up_to.batch_id', CATCH_UP_AGAIN,
    ),
    Mutation(
        TOUCHED, "all files that it touches are sorted at once",
        LAKE, "size + bytes_of_file > PORTION_BYTES", "False", PORTIONS,
    ),
    Mutation(
        TOUCHED, "a row is written with its portion and with those before",
        LAKE, 'f"{begin} AND {value.sql} < {start}"', "begin", PORTIONS,
    ),
    Mutation(
        TOUCHED, "a row is written with its portion and with those after it",
        LAKE, 'f"{value.sql} >= {start}"', '"true"', PORTIONS,
    ),
    Mutation(
        DEFERRED, "a large table moves with every batch",
        BATCH, "if pays(self._lake.row_count(flow.into), self._inputs.estimated_rows(flow)):", "if True:",
        WAITS_FOR_ROUND,
    ),
    Mutation(
        DEFERRED, "a round does not begin with it",
        SCHEDULE, "            if is_deferred(last):\n                return END_OF_DEFERRAL\n", "", BEGINS_WITH,
    ),
    Mutation(
        DEFERRED, "it waits, however many rows are new to it",
        SCHEDULE, "max(SMALL_ROWS, ROWS_FOR_EACH_NEW * new_count)", "SMALL_ROWS", IN_TIME,
    ),
    Mutation(
        DEFERRED, "a repeat of a batch that has written it leaves it out",
        BATCH, "return not self._lake.commits.by(flow.into, self._transaction(flow))", "return True", AS_DECIDED,
    ),
    Mutation(
        DEFERRED, "messages tell of all that waits, in each batch",
        BATCH, " AS FROM changed WHERE {' OR '.join(own)}", " AS FROM changed WHERE true OR {' OR '.join(own)}",
        TELLS_THE_SAME,
    ),
    Mutation(
        DEFERRED, "packages of which the batch has a route alone are not told",
        INPUTS, "if isinstance(read, New))\n", "if isinstance(read, New) and read.topic.name == 'ship-events')\n",
        TELLS_THE_SAME,
    ),
    Mutation(
        DEFERRED, "of its packages, only what the batch itself brings is looked at",
        BATCH, "USING ({', '.join(flow.into.key)})",
        "USING ({', '.join(flow.into.key)}) WHERE {within(of_topic(read.topic, self._batch.ranges))}", TELLS_THE_SAME,
    ),
    Mutation(
        DEFERRED, "nobody is told before the table moves",
        BATCH, "if self._tells(flow) or (self._moves(flow)", "if (self._moves(flow)", TELLS_THE_SAME,
    ),
    Mutation(
        DEFERRED, "questions are answered from what is stored",
        NEWEST, "if not reached:", "if True:", MADE_UP_FOR,
    ),
    Mutation(
        DEFERRED, "what is made up for does not go on from what was removed",
        NEWEST, "going_on_from(stored, archive.query, ", "going_on_from(stored, stored, ", BACK_AS_A_WHOLE,
    ),
    Mutation(
        DEFERRED, "the live table waits while it is swapped",
        SWAP, "        runner.end_deferral()", "        pass", BROUGHT_UP,
    ),
    Mutation(
        DEFERRED, "the replay's table waits while it is swapped",
        BUILD, "END_OF_DEFERRAL if is_last_part else", "None if is_last_part else", BROUGHT_UP,
    ),
    Mutation(
        SIDE_BY_SIDE, "a flow does not wait for what it reads",
        GRAPH, "any(other.into in tables_read(read) for read in self.reads.values())", "False", WAITS,
    ),
    Mutation(
        SIDE_BY_SIDE, "two flows write one table at once", GRAPH, "other.into == self.into or any", "any", WAITS,
    ),
    Mutation(
        TRUTH, "tables are created without",
        RECORD, 'return properties | {f"delta.constraints.{name}": rule for name, rule in self.constraints.items()}',
        "return properties", BY_OTHERS,
    ),
    Mutation(
        TRUTH, "conditions are not looked at when files are written",
        DATA_FILES, "for name, condition in table.constraints.items():", "for name, condition in ():", CONSTRAINT,
    ),
    Mutation(
        TRUTH, "a column that is required may be null",
        DATA_FILES, "if column.is_required:", "if False:", CONSTRAINT,
    ),
    Mutation(
        IN_ONE_PARTITION, "it is not",
        TASKS, "if flow.known and len(files[flow.name]) > 1:", "if False:", IN_TWO,
    ),
    Mutation(
        IN_ONE_PARTITION, "two partitions of a package are not noticed",
        TASKS, "min(kafka_partition) < max(kafka_partition)", "min(kafka_partition) > max(kafka_partition)", IN_TWO,
    ),
    Mutation(
        TOUCHED, "all files are rewritten",
        LAKE, "SELECT DISTINCT filename FROM {there} AS there {gone}", "SELECT DISTINCT filename FROM {there} AS there",
        LEFT_ALONE,
    ),
    Mutation(
        STATISTICS, "none",
        DATA_FILES, '"minValues": _bounds(found, "min"),', '"minValues": {},', BY_OTHERS,
    ),
    Mutation(
        SHORT_LOG, "it gets no checkpoint",
        LAKE, "if has_long_log(self.path(table), made.version):", "if False:", CHECKPOINT,
    ),
    Mutation(
        SHORT_LOG, "a table stays open for ever",
        DELTA_TABLE, "self._opened[path].version() - self._opened_at[path] >= LONG_LOG", "False", OPENED_AGAIN,
    ),
)  # fmt: skip
