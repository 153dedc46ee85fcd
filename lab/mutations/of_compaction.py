"""What compaction must leave, and whom it must not disturb."""

from lab.mutations.mutation import Mutation

RETENTION = "pipelines/maintenance/retention.py"
COMPACT = "pipelines/maintenance/compact.py"
UPKEEP = "pipelines/io/delta/files.py"
BY_THE_JOB = "pipelines/live/small_files.py"
DELTA = "pipelines/io/delta/delta_rs.py"
TESTS = "tests/maintenance/test_compact.py"
JOINED = "tests/live/test_small_files.py"
AGE = "tests/io/delta/test_files.py::test_file_stays_for_the_retention_after_it_was_replaced_however_old_it_is"
LEFT = f"{TESTS}::test_old_commits_leave_the_log_but_for_those_of_a_version_that_is_needed"

STAYS = "A vacuum leaves what somebody may read"
APART = "Compaction and the live job do not hurt each other"

MUTATIONS = (
    Mutation(
        STAYS, "the newest consistent batch goes with its age",
        RETENTION, "wanted = [_at(lake_root), *_since", "wanted = [*_since",
        f"{TESTS}::test_newest_complete_batch_can_be_read_whatever_its_age_and_older_ones_cannot",
    ),
    Mutation(
        STAYS, "what a batch that was cut off has added goes",
        RETENTION, "*_since_the_ledger(reader), ", "",
        f"{TESTS}::test_what_was_written_after_the_ledgers_last_row_stays",
    ),
    Mutation(
        STAYS, "what a rollback goes back to goes",
        RETENTION, "        return done[-1].before\n", "        return {}\n",
        f"{TESTS}::test_tables_before_a_promotion_can_be_read_until_it_is_rolled_back",
    ),
    Mutation(
        STAYS, "the as-of batch of a replay goes",
        RETENTION, "return _at(lake_root, replay.fence)", "return {}",
        f"{TESTS}::test_as_of_batch_of_a_replay_that_is_not_promoted_can_be_read_until_it_is_dropped",
    ),
    Mutation(
        STAYS, "what is young goes", UPKEEP, "hours, dry_run=True", "0, dry_run=True", AGE,
    ),
    Mutation(
        APART, "a vacuum commits that it was there",
        UPKEEP, "hours, dry_run=True, enforce_retention_duration=False, full=True, keep_versions=needed",
        "hours, dry_run=False, enforce_retention_duration=False, full=True, keep_versions=needed",
        "tests/io/delta/test_files.py::test_file_that_a_write_takes_out_meanwhile_disturbs_no_vacuum",
    ),
    Mutation(
        STAYS, "a needed version leaves the log",
        COMPACT, "if not dry_run and name not in closed:", "if not dry_run:", LEFT,
    ),
    Mutation(
        STAYS, "the files of a promotion that was cut off go",
        COMPACT, "    with deleting_files(root):\n        check_promotions(root)\n", "    with deleting_files(root):\n",
        f"{TESTS}::test_promotion_that_was_cut_off_comes_first",
    ),
    Mutation(
        APART, "a table that the job merges is Z-ordered while the job runs",
        COMPACT, "with handed_over(root):", "with deleting_files(root):",
        f"{TESTS}::test_table_that_the_live_job_rewrites_is_ordered_only_while_the_job_has_handed_over_the_lease",
    ),
    Mutation(
        APART, "the job joins files while another command takes some out",
        BY_THE_JOB, "held.enter_context(deleting_files(lake.root, patience_seconds=0))", "pass",
        f"{JOINED}::test_files_are_left_while_another_command_takes_some_out_and_joined_the_next_time",
    ),
    Mutation(
        APART, "joined files are another change of rows to whoever follows the table",
        DELTA, "are_other_rows=False)", "are_other_rows=True)",
        f"{JOINED}::test_oldest_small_files_are_joined_when_the_turn_comes_and_no_row_changes",
    ),
    Mutation(
        APART, "files that two processes join at once are joined twice",
        DELTA, "signature(path, replaced_at=table.version())", "signature(path)",
        "tests/io/delta/test_files.py::test_files_that_somebody_joined_meanwhile_are_not_replaced_again",
    ),
    Mutation(
        APART, "a table has no turn",
        BY_THE_JOB, "enumerate(_ADDED_TO)}", "enumerate(_ADDED_TO[1:])}",
        f"{JOINED}::test_every_table_that_batches_add_to_has_a_turn_of_its_own",
    ),
    Mutation(
        APART, "the job waits for a compaction that a command waits for",
        "pipelines/state/handover.py",
        "deleting_files(lake_root), closing(locked(lake_root, REQUEST, refusal, note=request.model_dump_json())):",
        "closing(locked(lake_root, REQUEST, refusal, note=request.model_dump_json())), deleting_files(lake_root):",
        "tests/state/test_handover.py::test_lease_is_not_asked_for_before_a_compaction_is_done",
    ),
)  # fmt: skip
