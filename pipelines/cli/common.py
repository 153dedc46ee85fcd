"""What the modules of the command line share."""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from pydantic import BaseModel

from pipelines.commands import Command
from pipelines.errors import printable, warn
from pipelines.host_environment import scratch_below

if TYPE_CHECKING:
    from pipelines.settings import Settings
    from pipelines.terminal.page import Page

T = TypeVar("T")
C = TypeVar("C", bound=Command)
R = TypeVar("R")

ON_A_LINE = partial(json.dumps, default=str)
INDENTED = partial(ON_A_LINE, indent=2)

AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]

DUCKDB_INTERRUPTED = "Query interrupted"
"""What DuckDB raises as a plain RuntimeError when Ctrl-C falls into a query."""


def current_settings() -> "Settings":
    """The settings, after a warning for each variable that looks like one and is none.

    What this process starts does not inherit them, for there are secrets among them: only the umask, and what it is
    given by `as_variables`.
    """
    from pipelines.settings import load_settings
    from pipelines.settings_variables import misspelt

    for variable, meant in misspelt(os.environ).items():
        hint = f"; {meant} is" if meant else ""
        warn(f"{printable(variable)} is no setting{hint}. `pts settings` lists them.")
    current = load_settings()
    for variable in [name for name in os.environ if name.upper().startswith("PTS_")]:
        del os.environ[variable]
    os.environ["PTS_UMASK"] = current.umask
    os.umask(int(current.umask, 8))  # of all that this process makes, and those that it starts
    if current.is_in_store:
        from pipelines.io.storage import access

        access.reach(current.storage)
    if current.home.is_dir():
        with suppress(OSError):  # a command that only reads can do without
            scratch_below(current.home)
    return current


def told(run: Callable[[C, "Settings"], R], command: C) -> R:
    """Runs a command that reads or writes tables, with the settings; where these ask for it, lineage is told of it."""
    current = current_settings()
    if not current.lineage.enabled:
        return run(command, current)
    from pipelines.observability.lineage import told_of

    with told_of(command, current):
        return run(command, current)


def answer(found: T, page: Callable[[T], "Page"], *, as_json: bool, dumps: Callable[[Any], str] = ON_A_LINE) -> None:
    """Prints what a command found, as JSON or as the page that is drawn of it."""
    if as_json:
        return typer.echo(dumps(_plain(found)))
    from pipelines.terminal.page import show

    return show(page(found))


def _plain(found: Any) -> Any:
    """The data as JSON has it; a result says by `as_json` what that is."""
    match found:
        case list() | tuple():
            return [_plain(each) for each in found]
        case dict():
            return found
        case BaseModel():
            return found.model_dump(mode="json")
        case _:
            return found.as_json()
