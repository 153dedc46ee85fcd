"""What an object store does not do by itself: keep others out, and tell what became of a request."""

from lab.mutations.mutation import Mutation

TERM = "pipelines/io/delta/writer_term.py"
SIGNATURE = "pipelines/io/delta/signature.py"
DELTA_RS = "pipelines/io/delta/delta_rs.py"
TABLE_LOG = "pipelines/io/delta/table_log.py"
LOCKS = "pipelines/io/storage/locks.py"
OBJECTS = "pipelines/io/storage/objects.py"
SPARK_JOB = "pipelines/io/spark/spark_job.py"
READER = "pipelines/io/duckdb/reader.py"

TERMS = "tests/io/delta/test_writer_term.py"
LEASES = "tests/io/storage/test_locks.py"
FILES = "tests/io/storage/test_files.py"
UNSTEADY = "tests/io/delta/test_unsteady_store.py"
SPARK_JOBS = "tests/io/spark/test_spark_job.py"
CHECKPOINTS = "tests/io/spark/test_checkpoint_files.py"

FROZEN = "A process that was frozen while it had the lease commits nothing once another has it"
LEASED = "A lease is one process's for as long as it renews it, and then another's"
ANSWERS = "What a store has done is done once, also where its answer is lost"

MUTATIONS = (
    Mutation(
        FROZEN, "a newer term that a table's log tells is not looked at",
        TERM, "(newest := newest_term(table)) > own:", "(newest := newest_term(table)) < own:",
        f"{TERMS}::test_process_that_was_overtaken_commits_nothing_more",
    ),
    Mutation(
        FROZEN, "commits do not carry their term",
        SIGNATURE, "        marks.append(AppTransaction(TERM, term))", "        pass",
        f"{TERMS}::test_commit_on_a_table_as_it_was_before_the_new_term_is_refused_by_delta",
    ),
    Mutation(
        FROZEN, "a term is begun with the number of the last one",
        DELTA_RS, "term = 1 + max(", "term = max(",
        f"{TERMS}::test_process_that_was_overtaken_commits_nothing_more",
    ),
    Mutation(
        FROZEN, "the commit that begins a term counts as a change of rows",
        TABLE_LOG, "if mark.app_id not in {TERM, REPLACED}]", "if mark.app_id != REPLACED]",
        f"{TERMS}::test_terms_change_nothing_that_a_table_s_log_tells",
    ),
    Mutation(
        LEASED, "it is taken while it may still be renewed",
        LOCKS, "self._since > LEASE_SECONDS", "self._since > 0",
        f"{LEASES}::test_lease_that_is_not_renewed_is_the_next_one_s",
    ),
    Mutation(
        LEASED, "one that has run out counts as held",
        LOCKS, "has_run_out = time.monotonic() - self._since > LEASE_SECONDS", "has_run_out = False",
        f"{LEASES}::test_lease_of_a_process_that_has_gone_runs_out",
    ),
    Mutation(
        LEASED, "one whose process was killed counts as held by whoever looks for the first time",
        LOCKS, "if is_me or self._is_news:", "if True:",
        f"{LEASES}::test_first_look_at_a_lease_tells_whether_its_process_is_alive",
    ),
    Mutation(
        LEASED, "what Spark does on a cluster goes on without it",
        SPARK_JOB, "if locks.is_any_lost():", "if False:",
        f"{SPARK_JOBS}::test_job_on_a_cluster_is_cancelled_without_its_locks",
    ),
    Mutation(
        LEASED, "one that was given back counts as lost",
        LOCKS, "_held.discard(self)", "pass",
        f"{LEASES}::test_lease_is_held_for_longer_than_it_lasts_and_lost_when_another_takes_it",
    ),
    Mutation(
        LEASED, "who has lost it does not learn so",
        LOCKS, "return time.monotonic() - self._renewed_at > LEASE_SECONDS", "return False",
        f"{LEASES}::test_lease_is_held_for_longer_than_it_lasts_and_lost_when_another_takes_it",
    ),
    Mutation(
        LEASED, "a store is taken that lets both writers write",
        LOCKS, "        _check_conditions(root)\n", "",
        f"{FILES}::test_store_that_ignores_conditions_is_refused",
    ),
    Mutation(
        ANSWERS, "an object that is there already counts as another's",
        OBJECTS, "return there.tag if there and there.content == content else None", "return None",
        f"{LEASES}::test_lease_that_the_store_gave_and_did_not_answer_is_had",
    ),
    Mutation(
        "A file of a checkpoint in a store is made or replaced by one conditional write",
        "Spark's own manager writes the checkpoint",
        "pipelines/session.py", '"superfastpts.ConditionalCheckpointFileManager"',
        '"org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"',
        f"{CHECKPOINTS}::test_file_in_a_store_is_overwritten_or_given_up_as_in_a_folder",
    ),
    Mutation(
        "Threads that share a file of a store read each where it said", "they share the position, too",
        "pipelines/io/storage/file_system.py", "threading.local()", 'type("Shared", (), {})()',
        "tests/io/storage/test_file_system.py::test_threads_that_share_a_file_read_each_where_it_said",
    ),
    Mutation(
        ANSWERS, "a commit that is there already counts as refused",
        DELTA_RS, "        if not has(table, transaction):\n            raise\n", "        raise\n",
        f"{UNSTEADY}::test_write_of_which_the_answer_is_lost_is_made_once[_delta_log/0+1\\\\.json]",
    ),
)  # fmt: skip
