"""What the modules of the command line share."""

import os
import sys
from contextlib import suppress
from typing import Annotated

import typer
from rich.console import Console

from pipelines.errors import printable
from pipelines.host_environment import scratch_below
from pipelines.settings import Settings, load_settings

AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of a table.")]

DUCKDB_INTERRUPTED = "Query interrupted"
"""What DuckDB raises as a plain RuntimeError when Ctrl-C falls into a query."""


def current_settings() -> Settings:
    """The settings, after a warning for each variable that looks like one and is none.

    What this process starts does not inherit them, for there are secrets among them: only the umask, and what it is
    given by `as_variables`.
    """
    from pipelines.settings_variables import misspelt

    for variable, meant in misspelt(os.environ).items():
        hint = f"; {meant} is" if meant else ""
        sys.stderr.write(f"pts: warning: {printable(variable)} is no setting{hint}. `pts settings` lists them.\n")
    current = load_settings()
    for variable in [name for name in os.environ if name.upper().startswith("PTS_")]:
        del os.environ[variable]
    os.environ["PTS_UMASK"] = current.umask
    os.umask(int(current.umask, 8))  # of all that this process makes, and those that it starts
    if current.home.is_dir():
        with suppress(OSError):  # a command that only reads can do without
            scratch_below(current.home)
    return current


def console() -> Console:
    """As wide as the terminal; elsewhere as wide as a log line may be."""
    return Console(highlight=False, width=None if sys.stdout.isatty() else 200)
