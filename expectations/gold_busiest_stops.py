"""Expectations of the leaderboards."""

from expectations.truth import Truth, is_kept, made_anew
from pipelines.contracts.rules import LEADERBOARD_SIZE, STOP
from pipelines.tables import GOLD_BUSIEST_STOPS, GOLD_STOP_ACTIVITY

NAMES = ", ".join(STOP)
KEPT = is_kept("window_end", GOLD_BUSIEST_STOPS, GOLD_STOP_ACTIVITY)

TRUTHS = (
    Truth(
        name="boards_follow_from_stop_activity",
        meaning=f"Each window's board has its {LEADERBOARD_SIZE} busiest stops of gold.stop_activity, in order: number "
        "of ranks that have another stop, another count, or none.",
        sql=f"""
            WITH ranked AS (
                SELECT window_start, window_end, struct({NAMES}, scan_count) AS stop, row_number() OVER (
                    PARTITION BY window_start
                    ORDER BY scan_count DESC, {", ".join(f"{name} ASC NULLS FIRST" for name in STOP)}
                ) AS rank
                FROM gold.stop_activity WHERE {KEPT}
            ),
            found AS (
                SELECT window_start, rank, struct({NAMES}, scan_count) AS stop FROM gold.busiest_stops WHERE {KEPT}
            )
            SELECT count(*) FROM (SELECT * FROM ranked WHERE rank <= {LEADERBOARD_SIZE}) AS expected
            FULL JOIN found USING (window_start, rank) WHERE expected.stop IS DISTINCT FROM found.stop
        """,
        catches="boards that were left behind when late scans changed their windows.",
        remedy=made_anew(GOLD_BUSIEST_STOPS),
    ),
)
