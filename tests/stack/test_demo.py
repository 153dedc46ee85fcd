"""What `pts demo` asks the tables."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from pipelines.settings import Settings
from pipelines.stack import demo
from pipelines.stack.demo_view import DemoView

REPORTS = pa.schema(
    {
        "tracking_number": pa.int64(),
        "number_of_remaining_stops": pa.int64(),
        "status_code": pa.string(),
        "city": pa.string(),
        "occurred_at": pa.timestamp("us", "UTC"),
        "event_kafka_timestamp": pa.timestamp("us", "UTC"),
    }
)


def asked(lake: Path, view: DemoView, remaining: Sequence[int | None], reasons: Sequence[str] = ()) -> DemoView:
    """The view after it saw a lake with packages 1, 2, … and their remaining stops."""
    first = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        {
            "tracking_number": number,
            "number_of_remaining_stops": stops,
            "status_code": "DL" if stops == 0 else "IT",
            "city": "Oslo",
            "occurred_at": first,
            "event_kafka_timestamp": first - timedelta(minutes=number),
        }
        for number, stops in enumerate(remaining, start=1)
    ]
    reports = pa.Table.from_pylist(rows, REPORTS)
    write_deltalake(lake / "gold" / "remaining_stops", reports, mode="overwrite")
    quarantine = pa.table({"reason": pa.array(reasons, pa.string())})
    write_deltalake(lake / "silver" / "quarantine", quarantine, mode="overwrite")
    demo._ask(view, Settings(lake=str(lake)))
    return view


def test_tables_without_a_row_are_nothing_seen_yet(tmp_path: Path) -> None:
    view = asked(tmp_path, DemoView(), [])

    assert view.totals == {"seen": 0, "on their way": 0, "delivered": 0}
    assert not view.packages
    assert view.lines()[1] == "packages: seen 0, on their way 0, delivered 0; in quarantine: none yet"


def test_packages_that_moved_last_are_followed_until_they_end_and_others_take_their_places(tmp_path: Path) -> None:
    view = asked(tmp_path, DemoView(), [*[9] * 10, 0, None], ["malformed", "too_late", "malformed"])
    assert set(view.packages) == set(range(1, 9))
    assert view.quarantined == {"malformed": 2, "too_late": 1}
    assert view.totals == {"seen": 12, "on their way": 10, "delivered": 1}

    asked(tmp_path, view, [*[0] * 5, *[8] * 5, 0, None])

    assert set(view.packages) == {3, 4, 5, 6, 7, 8, 9, 10}
    assert "  package 6: 9 → 8 stops remain" in view.lines()
