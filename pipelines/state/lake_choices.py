"""What is chosen when a lake is created, since it changes what the rows mean: kept in the lake, and required."""

import json

from pipelines.contracts.topics import SHIP_EVENTS, SHIP_ROUTES
from pipelines.contracts.wire import Wire
from pipelines.errors import LakeMismatch
from pipelines.io.storage.files import files_at
from pipelines.settings import Settings

FILE = "_lake.json"
ALWAYS_BEFORE = {"PTS_KAFKA__TIMES_WITHOUT_OFFSET": "utc"}
"""What lakes were made with before it could be chosen."""


def choices_of(settings: Settings) -> dict[str, str]:
    """Value by the variable that sets it."""
    return {
        "PTS_KAFKA__SHIP_EVENTS_FORMAT": settings.kafka.ship_events_format,
        "PTS_KAFKA__SHIP_ROUTES_FORMAT": settings.kafka.ship_routes_format,
        "PTS_KAFKA__TIMES_WITHOUT_OFFSET": settings.kafka.times_without_offset,
    }


def wires(settings: Settings) -> dict[str, Wire]:
    """How the values of each input topic are written."""
    kafka = settings.kafka
    return {
        SHIP_EVENTS.name: Wire(kafka.ship_events_format, needs_offset=kafka.times_without_offset == "quarantine"),
        SHIP_ROUTES.name: Wire(kafka.ship_routes_format),
    }


def check_choices(lake_root: str, settings: Settings, is_new: bool) -> None:
    """Compares the choices with those that the lake keeps; one of before keeps none, or not all.

    Args:
        lake_root: Its root.
        settings: The choices.
        is_new: Whether the lake has no batch yet.

    Raises:
        LakeMismatch: The lake was made with another one.
    """
    files = files_at(lake_root)
    kept = json.loads(files.read(FILE)) if files.exists(FILE) else {}
    if is_new and not kept:
        return
    for variable, value in choices_of(settings).items():
        if (before := kept.get(variable, ALWAYS_BEFORE.get(variable, value))) != value:
            raise LakeMismatch(
                f"The lake at {lake_root} was made with {variable}={before}, and here it is {value}: rows of two kinds "
                f"would be in its tables. Set {variable}={before}; or, if that was wrong from the beginning, point "
                "PTS_LAKE at a new place, and the job builds the lake again."
            )


def keep_choices(lake_root: str, settings: Settings) -> None:
    """Writes the choices into a lake that keeps none yet."""
    files = files_at(lake_root)
    if not files.exists(FILE):
        files.write(FILE, json.dumps(choices_of(settings), indent=2) + "\n")
