"""What a replay, a backfill and a re-drive change, and what they must leave."""

from lab.mutations.mutation import Mutation

DELTA_RS = "pipelines/io/delta/delta_rs.py"
REPLAY = "pipelines/replay"
BACKFILL = "pipelines/maintenance/backfill.py"
TESTS = "tests/replay"
PROMOTE = f"{TESTS}/test_promote.py"
DIFFERENCE = (
    f"{TESTS}/test_difference.py::test_missing_extra_changed_and_doubled_rows_are_counted_also_under_keys_that_are_null"
)
DECLARED = f"{TESTS}/test_difference.py::test_what_is_declared_may_differ_and_nothing_else"
PUBLISHED = f"{TESTS}/test_publication.py::test_changed_and_new_reports_are_sent_and_one_that_is_gone_is_a_tombstone"
TOLD_AFTER = f"{PROMOTE}::test_what_the_log_told_after_a_promotion_is_in_the_tables_after_its_rollback"
COMPARED = f"{PROMOTE}::test_only_what_was_compared_and_passed_is_promoted"
BACK = f"{TESTS}/test_redrive.py::test_redrive_is_rolled_back_like_any_promotion"
ACCEPTED = (
    f"{TESTS}/test_redrive.py::test_accepted_records_are_in_all_tables_once_and_the_others_stay_with_their_new_reason"
)
INTERVAL = "tests/maintenance/test_backfill.py::test_rows_of_the_interval_become_the_oracles_and_no_other_row_changes"
STAY_AWAY = "tests/maintenance/test_backfill.py::test_windows_that_were_removed_stay_away"
CUT_OFF = (
    f"{TESTS}/test_cut_off.py::test_promotion_that_is_cut_off_after_any_step_is_finished_and_the_live_job_waits_for_it"
)

REBUILT = f"{TESTS}/test_expired.py::test_table_that_is_rebuilt_has_what_was_removed_and_the_archive_has_not[rebuilt]"

EXACT = "A comparison is exact, row for row"
MESSAGES = "Who reads package-reports is told what a promotion changes"
REMOVED = "What was removed is in the archive alone, whatever is rebuilt"
OWN_IDS = "No two writes share a transaction: Delta silently leaves out the second"
ONE_COMMIT = "A promotion is one commit per table, whatever of the two tables is the same"
NOT_PROMOTED = (
    f"{TESTS}/test_cut_off.py::"
    "test_lake_whose_job_was_cut_off_within_a_batch_is_not_promoted_before_that_is_repeated[1]"
)
PROVEN = "Only what was compared, and passed, is promoted"
INTERVALS = "A backfill replaces exactly the rows of its interval"
ONCE = "A re-driven record enters the tables once, and the lowest offset tells the scan"
UNDER_WAY = "A promotion that was cut off is known, and finished"
APART = "Catch-up tables are swapped where they are, and nobody takes them for what stood there before"
WHERE_THEY_STAND = f"{PROMOTE}::test_catch_up_tables_are_swapped_where_they_are_and_the_next_batches_bring_them_on"

MUTATIONS = (
    Mutation(
        EXACT, "rows that live has too often are no difference",
        f"{REPLAY}/difference.py", "sum(weight) <> 0", "sum(weight) < 0", DIFFERENCE,
    ),
    Mutation(
        EXACT, "a row that is there too often counts once",
        f"{REPLAY}/difference.py", "range(abs(surplus))", "range(1)",
        f"{TESTS}/test_difference.py::test_row_that_is_there_three_times_is_two_too_many",
    ),
    Mutation(
        EXACT, "a row that only one side has is covered by a declared column",
        f"{REPLAY}/difference.py", "[\"kind <> 'changed'\", *(differs", "[\"false\", *(differs",
        DECLARED,
    ),
    Mutation(
        MESSAGES, "a report that is gone is not told of",
        f"{REPLAY}/publication.py", "FROM old FULL JOIN new", "FROM old RIGHT JOIN new", PUBLISHED,
    ),
    Mutation(
        OWN_IDS, "the rows with which a rollback begins have the transactions of its first batch",
        f"{REPLAY}/base.py", 'f"base-{replay.replay_id}/{name}"', 'f"{replay.replay_id}/{name}"', TOLD_AFTER,
    ),
    Mutation(
        REMOVED, "a report that is rebuilt stays in the archive, too",
        "pipelines/engine/micro_batch.py", "if flow.archive and self._lake.commits.version(flow.archive):", "if None:",
        REBUILT,
    ),
    Mutation(
        REMOVED, "a package that was removed comes back with a re-driven record",
        f"{REPLAY}/redrive.py", "gone = is_expired(expiry, limit)", "gone = 'false'",
        f"{TESTS}/test_expired.py::test_record_of_a_package_that_was_removed_is_redriven_into_the_archive",
    ),
    Mutation(
        ONE_COMMIT, "a file that both tables have is removed and added in one commit",
        DELTA_RS, 'stay = there.keys() & {file["path"] for file in wanted}', "stay = there.keys() - there.keys()", BACK,
    ),
    Mutation(
        PROVEN, "a comparison that did not pass is enough",
        f"{REPLAY}/promote.py", "if found is None or not found.has_passed:", "if found is None:", COMPARED,
    ),
    Mutation(
        UNDER_WAY, "what is to be done is not written down first",
        f"{REPLAY}/swap.py", "        self._replays.save(replay)\n        self.replay = replay",
        "        self.replay = replay", CUT_OFF,
    ),
    Mutation(
        UNDER_WAY, "what was promoted already is promoted again, and its way back leads to itself",
        f"{REPLAY}/swap.py", "    if not replay.promotions or newest != replay.promotions[-1].batch_id:",
        "    if replay:", f"{PROMOTE}::test_promotion_whose_command_was_killed_is_followed_up_when_it_is_given_again",
    ),
    Mutation(
        UNDER_WAY, "a command that is gone leaves what it delegated without a lock",
        "pipelines/state/exclusion.py", "    if other := holder(lake_root, DELEGATION):", "    if other := None:",
        "tests/state/test_handover.py"
        "::test_delegated_command_keeps_others_from_files_and_replays_also_when_it_is_gone",
    ),
    Mutation(
        UNDER_WAY, "a lake is promoted whose job was cut off within a batch, which then counts as written",
        "pipelines/maintenance/common.py", "if runner.prepare():", "if runner.prepare() is None:",
        NOT_PROMOTED,
    ),
    Mutation(
        APART, "they are said to have come up already",
        f"{REPLAY}/swap.py", "promotion.positions.get(table.name, promotion.batch_id)", "promotion.batch_id",
        WHERE_THEY_STAND,
    ),
    Mutation(
        APART, "a snapshot has them beside tables that were replaced",
        "pipelines/state/snapshots.py", "WHERE NOT EXISTS (FROM", "WHERE EXISTS (SELECT 1) OR EXISTS (FROM",
        "tests/state/test_snapshots.py::test_table_that_a_promotion_brought_stood_nowhere_before_it",
    ),
    Mutation(
        APART, "a way back passes the promotion before",
        f"{REPLAY}/swap.py",
        "            runner.catch_up()  # or the way back", "            pass  # or the way back",
        f"{PROMOTE}::test_way_back_leads_to_the_promotion_before_and_never_past_it",
    ),
    Mutation(
        APART, "nobody has them come up when the command was killed",
        f"{REPLAY}/swap.py", "return None if is_settled(lake_root) else Stage.SETTLE", "return None",
        f"{PROMOTE}::test_promotion_whose_command_was_killed_is_followed_up_when_it_is_given_again",
    ),
    Mutation(
        INTERVALS, "windows at its edges are counted from the scans of the interval alone",
        BACKFILL, "LOOKBACK = max(SLIDING_WINDOW, TUMBLING_WINDOW, ALERT_WINDOW)", "LOOKBACK = 0 * ALERT_WINDOW",
        INTERVAL,
    ),
    Mutation(
        INTERVALS, "its last moment belongs to it",
        BACKFILL, "{column} < {moment(end)}", "{column} <= {moment(end)}", INTERVAL,
    ),
    Mutation(
        INTERVALS, "its first moment does not belong to it",
        BACKFILL, "{column} >= {moment(begin)}", "{column} > {moment(begin)}", INTERVAL,
    ),
    Mutation(
        INTERVALS, "rows that were removed come back",
        BACKFILL, 'kept = f"NOT {is_expired(into.expiry, expired_before.get(into.name))}"', 'kept = "true"', STAY_AWAY,
    ),
    Mutation(
        ONCE, "a scan that a later record told stays beside the one that is accepted now",
        f"{REPLAY}/redrive.py", '"NOT is_new AND place > 1"', '"NOT is_new AND place > 2"', ACCEPTED,
    ),
)  # fmt: skip
