"""The page *history*: replays and their comparisons, what changed tables without the log, and checks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.board.view import View
from pipelines.io.duckdb.reader import LakeReader
from pipelines.processes import airflow
from pipelines.settings import Settings
from pipelines.state.replay_records import Replay, Replays
from pipelines.tables import OPS_BATCHES, OPS_QUALITY
from pipelines.values import rows_of

MOST = 50
CHANGES = f"""
    WITH marked AS (
        SELECT batch_id, lag(batch_id) OVER by_batch AS before_id,
            lag((checkpoint_id, checkpoint_batch_id)) OVER by_batch = (checkpoint_id, checkpoint_batch_id)
                AS is_maintenance
        FROM {OPS_BATCHES.name} WINDOW by_batch AS (ORDER BY batch_id)
    ), shown AS (FROM marked WHERE is_maintenance ORDER BY batch_id DESC LIMIT {MOST})
    SELECT batch_id, batch.committed_at, batch.replay_id,
        [state.table_name FOR state IN batch.tables
            IF state.table_name || state.version NOT IN [past.table_name || past.version FOR past IN before.tables]
        ] AS changed,
        [state.expired_before FOR state IN batch.tables] != [past.expired_before FOR past IN before.tables]
            AS has_expired
    FROM shown JOIN {OPS_BATCHES.name} AS batch USING (batch_id)
        JOIN {OPS_BATCHES.name} AS before ON before.batch_id = before_id
    ORDER BY batch_id DESC
"""
CHECKS = f"""
    SELECT checked_at, batch_id, any_value(page) AS page, count(*) AS expectation_count,
        count(*) FILTER (outcome IN ('failed', 'error')) AS failed_count
    FROM {OPS_QUALITY.name} GROUP BY checked_at, batch_id ORDER BY checked_at DESC LIMIT {MOST}
"""


@dataclass(frozen=True)
class History:
    """What the page shows, newest first; `airflow` is where Airflow is, which has the pages of checks and replays."""

    replays: list[Replay]
    changes: list[dict[str, Any]]
    checks: list[dict[str, Any]]
    airflow: str


def history_page(view: View, settings: Settings) -> History:
    """Reads the records of replays, the ledger, and what `pts check` has found.

    The ledger does not know of checks and replays: they are as they are now.
    """
    reader = LakeReader(settings.lake_root)
    is_checked = OPS_QUALITY.name in reader.table_names()
    checks = rows_of(reader.query(CHECKS)) if is_checked else []
    replays = Replays(settings.lake_root).all()
    return History(
        replays[::-1],
        view.rows(CHANGES),
        [row | {"link": _link(row["page"], settings)} for row in checks],
        airflow.url(settings),
    )


def _link(page: str, settings: Settings) -> str | None:
    """Where Airflow shows a page of `pts check`, while it is there."""
    path = Path(page)
    if not (path.is_relative_to(settings.quality_pages) and path.is_file()):
        return None
    return f"{airflow.url(settings)}/pages/quality/{path.relative_to(settings.quality_pages)}"
