"""How the live job begins and goes on, when it is refused, and how it ends."""

from lab.mutations.mutation import Mutation

POSITION = "pipelines/live/resume.py"
LOSS = "pipelines/live/new_checkpoint.py"
LOCK = "pipelines/processes/pid_lock.py"
LIVE_JOB = "pipelines/live/live_job.py"
SAME_LOG = "pipelines/live/log_identity.py"

T_POSITION = "tests/live/test_resume.py"
CANNOT_GO_ON = f"{T_POSITION}::test_log_that_does_not_hold_what_comes_next_is_refused"
T_SAME_LOG = "tests/live/test_log_identity.py"
ANOTHER_RECORD = f"{T_SAME_LOG}::test_log_that_holds_another_record_at_the_position_of_the_lake_is_refused"
CONTRADICTION = f"{T_POSITION}::test_ledger_and_checkpoint_that_contradict_each_other_are_refused"
BY_NUMBER = f"{T_POSITION}::test_a_batch_is_in_the_ledger_by_its_number_and_its_checkpoint"
T_LOSS = "tests/live/test_new_checkpoint.py"
GOES_ON = f"{T_LOSS}::test_job_goes_on_where_the_ledger_ends"
BACK = f"{T_LOSS}::test_what_the_lost_batch_has_written_is_taken_back[3]"
NO_LOG = f"{T_LOSS}::test_log_that_does_not_go_on_there_is_refused_before_anything_is_changed"
SECOND_JOB = "tests/state/test_writer_lease.py::test_second_job_on_a_lake_is_refused_with_the_process_of_the_first"
NOT_GIVEN_BACK = (
    "tests/state/test_handover.py"
    "::test_job_that_has_handed_over_says_who_has_the_lease_until_it_is_back_or_a_stop_is_asked_for[True]"
)
STOPPED_WITHOUT_LEASE = (
    "tests/live/test_handover.py::test_job_that_is_stopped_while_a_command_has_the_lease_ends_and_touches_nothing"
)
T_LIVE_JOB = "tests/live/test_live_job.py"
BESIDE = f"{T_LIVE_JOB}::test_what_fails_beside_a_batch_ends_the_job_when_spark_has_committed_the_batch"
NONE_BEGINS = f"{T_LIVE_JOB}::test_no_batch_begins_once_something_has_failed"
FIRST_FAILURE = f"{T_LIVE_JOB}::test_batch_that_fails_after_something_beside_it_has_failed_hides_nothing"
NOT_BROUGHT_UP = f"{T_LIVE_JOB}::test_nothing_is_brought_up_after_a_batch_that_failed"
WITHOUT_JAVA = f"{T_LIVE_JOB}::test_job_whose_java_is_gone_waits_for_what_its_batch_still_does"
DELEGATED_STAYS = f"{T_LIVE_JOB}::test_batch_that_takes_too_long_is_cut_off_by_a_stop_and_a_delegated_command_is_not"

TRUNCATED = "A lost or truncated log stops the job"
PARTITIONS = "A changed partition count is refused"
AGREEMENT = "Ledger and checkpoint agree, or the start is refused"
LOST = "A lost checkpoint: the job goes on where the ledger ends, and takes back what the lost batch has written"
BOUNDARY = "The live job ends at a batch boundary, whatever ends it"
QUIET = "A job that has nothing to do rests"
ONE_WRITER = "One writer: a second live job is refused"
HANDED_OVER = "A job that has handed over the lease can be stopped, whatever becomes of the command"

MUTATIONS = (
    Mutation(
        TRUNCATED, "records that are gone are skipped",
        POSITION, "if offset < begin[topic][partition]:", "if offset < 0:", f"{CANNOT_GO_ON}[truncated]",
    ),
    Mutation(
        TRUNCATED, "a plan that ends before it begins is repeated for ever",
        POSITION, "if part.end < part.start:", "if part.end < 0:",
        f"{T_POSITION}::test_plan_that_ends_before_it_begins_is_refused_with_the_remedy[next]",
    ),
    Mutation(
        TRUNCATED, "a plan that ends before it begins is begun",
        LIVE_JOB, "        check_ends(starts(ranges), ends(ranges))\n", "",
        f"{T_LIVE_JOB}::test_batch_that_ends_before_it_begins_is_not_begun",
    ),
    Mutation(
        TRUNCATED, "a plan that ends before it begins cannot be left",
        LOSS, "            check_plan(last, checkpoint)\n", "",
        f"{T_LOSS}::test_plan_that_ends_before_it_begins_is_left_and_what_it_has_written_is_taken_back[0]",
    ),
    Mutation(
        TRUNCATED, "records that are gone under a job that runs are not named",
        LIVE_JOB, "starting_offsets(self.runner.last, self._checkpoint, *self._log_bounds())", "pass",
        f"{T_LIVE_JOB}::test_records_that_are_gone_under_a_job_are_named_by_their_offsets",
    ),
    Mutation(
        TRUNCATED, "a log that is shorter than what was read is read on",
        POSITION, "if offset > (ends_at := end.get(topic, {}).get(partition, 0)):", "if (ends_at := -1) > offset:",
        f"{CANNOT_GO_ON}[shorter]",
    ),
    Mutation(
        TRUNCATED, "a log that ends where the lake stands is refused",
        POSITION, "if offset > (ends_at :=", "if offset >= (ends_at :=",
        f"{T_POSITION}::test_log_that_ends_just_at_the_position_of_the_lake_is_accepted",
    ),
    Mutation(
        TRUNCATED, "nobody looks whether a running job's log becomes shorter",
        "pipelines/live/progress.py", "        check_ends(position, head)\n", "",
        "tests/live/test_progress.py::test_log_that_ends_before_what_was_read_of_it_ends_the_job",
    ),
    Mutation(
        TRUNCATED, "a log with other records is read on",
        SAME_LOG, "if held is None or _as_archived(held) != _as_archived(message):", "if held is None:",
        f"{ANOTHER_RECORD}[value]",
    ),
    Mutation(
        TRUNCATED, "a log that became another one is read on where it lacks the record",
        SAME_LOG, "if held is None or _as", "if held and _as",
        f"{ANOTHER_RECORD}[none]",
    ),
    Mutation(
        TRUNCATED, "a record that the log has deleted is missed",
        SAME_LOG, " if message.offset >= begin[topic][part]", "",
        f"{T_SAME_LOG}::test_record_that_the_log_has_deleted_is_not_compared",
    ),
    Mutation(
        TRUNCATED, "a transaction's end is taken for a record that nobody archived",
        SAME_LOG, "LOOKS_BACK = 2, 10_000", "LOOKS_BACK = (1,)",
        f"{T_SAME_LOG}::test_end_of_a_transaction_is_no_record",
    ),
    Mutation(
        TRUNCATED, "nothing is compared where many records were taken back at the end",
        SAME_LOG, "LOOKS_BACK = 2, 10_000", "LOOKS_BACK = (2,)",
        f"{T_SAME_LOG}::test_newest_record_is_compared_that_others_follow_which_were_taken_back",
    ),
    Mutation(
        TRUNCATED, "records of a batch that was cut off are compared, too",
        SAME_LOG, "<= message.offset < ends.get(message.partition, 0):", "<= message.offset:",
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
        AGREEMENT, "a ledger without rows starts over under an old checkpoint",
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
        AGREEMENT, "nobody looks whether the ledger has all its files",
        "pipelines/state/ledger.py", "if damage := self._lake.missing_files(OPS_BATCHES):", "if (damage := None):",
        "tests/engine/test_integrity.py::test_ledger_that_lacks_a_file_is_refused_with_the_remedy",
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
        "pipelines/engine/integrity.py",
        "change.transaction.writer == NEW_CHECKPOINT", "change.transaction.writer is None",
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
        LOST, "an empty ledger begins where the log does now",
        LOSS, "if any(offset for partitions", "if all(offset for partitions",
        f"{T_LOSS}::test_lake_whose_first_batch_is_lost_is_refused_when_the_log_has_lost_its_beginning",
    ),
    Mutation(
        ONE_WRITER, "jobs share the lock",
        LOCK, "LOCK_EX | fcntl.LOCK_NB)\n            if", "LOCK_SH | fcntl.LOCK_NB)\n            if", SECOND_JOB,
    ),
    Mutation(
        HANDED_OVER, "it waits until the command gives the lease back",
        "pipelines/state/handover.py",
        "while not stop.is_set():\n            try:", "while True:\n            try:",
        NOT_GIVEN_BACK,
    ),
    Mutation(
        ONE_WRITER, "a standby takes what the job gives to a command",
        "pipelines/state/handover.py", " or holder(root, REQUEST)\n        free", "\n        free",
        "tests/state/test_handover.py::test_standby_leaves_the_lease_to_the_command_that_asks_for_it",
    ),
    Mutation(
        ONE_WRITER, "who stands by leaves files in the tables",
        "pipelines/engine/micro_batch.py", 'where="false"', 'where="true"',
        "tests/engine/test_micro_batch.py::test_rehearsal_judges_all_records_and_keeps_nothing",
    ),
    Mutation(
        ONE_WRITER, "who stands by takes the writer for a stranger",
        "pipelines/engine/micro_batch.py",
        "self._lake.newest(flow.into).version()", "self._lake.commits.version(flow.into)",
        "tests/engine/test_micro_batch.py::test_rehearsal_goes_on_where_another_process_writes",
    ),
    Mutation(
        HANDED_OVER, "it goes on with tables that are the command's",
        LIVE_JOB,
        "            if not handover.hand_over(self._stop):\n                raise Stopped\n",
        "            handover.hand_over(self._stop)\n",
        STOPPED_WITHOUT_LEASE,
    ),
    Mutation(
        HANDED_OVER, "the stop is told as a failure of the batch",
        LIVE_JOB, "            except Stopped:\n                raise\n", "",
        STOPPED_WITHOUT_LEASE,
    ),
    Mutation(
        BOUNDARY, "what fails beside a batch ends the job at once",
        LIVE_JOB, "        except Exception as error:\n            self._fail(error)\n        try:\n",
        "        except Exception:\n            raise\n        try:\n", BESIDE,
    ),
    Mutation(
        BOUNDARY, "Spark's own commit is not waited for",
        LIVE_JOB, "while query.isActive and is_in_batch(query.status):", "while self._busy.locked():",
        BESIDE,
    ),
    Mutation(
        BOUNDARY, "a query that only looks for records is waited for",
        LIVE_JOB, ' and not status["message"].startswith(LOOKS)', "",
        f"{T_LIVE_JOB}::test_query_is_in_a_batch_from_its_plan_on[looks]",
    ),
    Mutation(
        QUIET, "brokers are asked as often as they answer",
        "pipelines/io/kafka/log.py", '"org.apache.spark.sql.kafka010.QuietKafkaProvider"', '"kafka"',
        "tests/integration/test_quiet_log.py::test_query_rests_in_a_quiet_log_and_then_reads_what_comes",
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
        BOUNDARY, "a batch that a stop cuts off is a failure",
        LIVE_JOB, "if self._phase is not Phase.STOPPING:", "if True:",
        f"{T_LIVE_JOB}::test_batch_that_a_stop_cuts_off_is_no_failure",
    ),
    Mutation(
        BOUNDARY, "tables are brought up after a failure",
        LIVE_JOB, "            if self._stop.is_set():\n                return\n", "", NOT_BROUGHT_UP,
    ),
    Mutation(
        BOUNDARY, "a delegated command is cut off like a batch",
        LIVE_JOB, " and self._phase is not Phase.HANDOVER", "", DELEGATED_STAYS,
    ),
    Mutation(
        BOUNDARY, "what a batch still does without Java is not waited for",
        LIVE_JOB, "self._busy.acquire(timeout=STOP_GRACE_SECONDS)", "pass", WITHOUT_JAVA,
    ),
)  # fmt: skip
