"""The page *places*: the busiest stops of a window, and how busy all stops were, window by window."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.board.now import Chart
from pipelines.board.view import View
from pipelines.tables import GOLD_BUSIEST_STOPS, GOLD_CARRIER_THROUGHPUT, GOLD_STOP_ACTIVITY

READ = (GOLD_BUSIEST_STOPS.name, GOLD_STOP_ACTIVITY.name, GOLD_CARRIER_THROUGHPUT.name)
WINDOWS = f"""
    SELECT window_start, sum(scan_count)::BIGINT AS scan_count, sum(delivered_count)::BIGINT AS delivered_count,
        sum(failed_count)::BIGINT AS failed_count, count(*) AS stop_count
    FROM {GOLD_STOP_ACTIVITY.name}
    WHERE window_start > (SELECT max(window_start) FROM {GOLD_STOP_ACTIVITY.name}) - INTERVAL 1 DAY
    GROUP BY ALL ORDER BY window_start
"""
BOARD = f"""
    SELECT * FROM {GOLD_BUSIEST_STOPS.name} WHERE window_start = $1::TIMESTAMPTZ ORDER BY rank
"""
CARRIERS = f"""
    SELECT carrier_code, window_start, sum(scan_count)::BIGINT AS scan_count FROM {GOLD_CARRIER_THROUGHPUT.name}
    WHERE window_start = (SELECT max(window_start) FROM {GOLD_CARRIER_THROUGHPUT.name})
    GROUP BY ALL ORDER BY scan_count DESC, carrier_code LIMIT 20
"""


@dataclass(frozen=True)
class Places:
    """What the page shows: the windows of the newest day, the leaderboard of one, the carriers of the newest hour."""

    windows: list[dict[str, Any]]
    chosen: datetime | None
    stops: list[dict[str, Any]]
    carriers: list[dict[str, Any]]
    chart: Chart


def places_page(view: View, window: datetime | None) -> Places:
    """The leaderboard of a window; of the newest where none is named."""
    windows = view.rows(WINDOWS)
    chosen = window or (windows[-1]["window_start"] if windows else None)
    times = tuple(row["window_start"].timestamp() for row in windows)
    counts = tuple(float(row["scan_count"]) for row in windows)
    return Places(
        windows[::-1],
        chosen,
        view.rows(BOARD, chosen) if chosen else [],
        view.rows(CARRIERS),
        Chart("Scans of a window", "scans", times, counts),
    )
