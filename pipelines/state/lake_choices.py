"""What is chosen when a lake is created, since it changes what the rows mean: kept in the lake, and insisted on."""

import json
from collections.abc import Mapping

from pipelines.errors import LakeMismatch
from pipelines.io.delta.storage import Storage

FILE = "_lake.json"


def check_choices(storage: Storage, lake_root: str, choices: Mapping[str, str]) -> None:
    """Compares the choices with those that the lake keeps. One of before keeps none yet.

    Args:
        storage: Where the lake is.
        lake_root: Its root.
        choices: Value by the variable that sets it.

    Raises:
        LakeMismatch: The lake was made with another one.
    """
    path = f"{lake_root}/{FILE}"
    kept = json.loads(storage.text(path)) if storage.exists(path) else choices
    for variable, value in choices.items():
        if (before := kept.get(variable)) != value:
            raise LakeMismatch(
                f"The lake at {lake_root} was made with {variable}={before}, and here it is {value}: rows of two kinds "
                f"would be in its tables. Set {variable}={before}; or, if that was wrong from the beginning, point "
                "PTS_LAKE at a new place, and the job builds the lake anew."
            )


def keep_choices(storage: Storage, lake_root: str, choices: Mapping[str, str]) -> None:
    """Writes the choices into a lake that keeps none yet."""
    path = f"{lake_root}/{FILE}"
    if not storage.exists(path):
        storage.delete(f"{path}.new")
        storage.write(f"{path}.new", json.dumps(dict(choices), indent=2) + "\n")
        storage.rename(f"{path}.new", FILE)
