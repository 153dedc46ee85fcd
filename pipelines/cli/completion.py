"""What a shell completes where a command takes a name: known without an engine, and nothing where that fails."""

from collections.abc import Callable, Mapping
from contextlib import suppress

from pipelines.commands import Named
from pipelines.errors import PtsError
from pipelines.state.replay_folders import replay_names
from pipelines.tables import EXPECTED, TABLES, WINDOW_TABLES, Table


def service_names() -> list[str]:
    """The services that `pts up` starts by name."""
    from pipelines.processes.supervisor import startable
    from pipelines.settings import load_settings

    with suppress(PtsError):  # settings that do not fit: the command itself says so
        return startable(load_settings())
    return []


def _replay_names() -> list[str]:
    from pipelines.settings import load_settings

    with suppress(PtsError):  # as above
        return replay_names(load_settings().lake_root)
    return []


def _names_of(tables: tuple[Table, ...]) -> Callable[[], list[str]]:
    return lambda: [table.name for table in tables]


NAMES: Mapping[Named, Callable[[], list[str]]] = {
    "replay": _replay_names,
    "gold table": _names_of(tuple(table for table in TABLES if table.layer == "gold")),
    "window table": _names_of(WINDOW_TABLES),
    "expected table": _names_of(EXPECTED),
}
"""Gives the names that there are, by what a parameter names."""
