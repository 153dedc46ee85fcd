"""Each command's help has an example, and the command line takes what it shows."""

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from pipelines import settings
from pipelines.cli import main, parameters
from pipelines.settings_variables import misspelt

EXAMPLE = re.compile(r"`((?:[A-Z_]+=\S+ )*)pts ([^`]+)`")


def commands_of(group: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, *path, name)
        else:
            yield (*path, name), command


def examples_of(text: str) -> list[tuple[str, list[str]]]:
    """Variables and arguments of each command of `pts` that a text shows; a file for its standard input is left out."""
    found = EXAMPLE.findall(text)
    return [(variables, shlex.split(arguments.partition(" < ")[0])) for variables, arguments in found]


COMMANDS = {path: examples_of(command.help) for path, command in commands_of(typer.main.get_command(main.app))}


class Taken(Exception):
    """Stops a command whose parameters were taken."""


def raised_by(words: list[str], monkeypatch: pytest.MonkeyPatch) -> BaseException | None:
    """What a command ends with that gets no further than to its parameters, and without any to the settings."""
    checked = parameters.checked

    def take(*asked: Any, **given: Any) -> Any:
        raise Taken(asked and checked(*asked, **given))

    monkeypatch.setattr(parameters, "checked", take)
    monkeypatch.setattr(settings, "load_settings", take)
    return CliRunner().invoke(main.app, words).exception


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_has_an_example_of_the_command_that_is_taken(
    path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert any(tuple(words[: len(path)]) == path for _, words in COMMANDS[path])
    for variables, words in COMMANDS[path]:
        given = dict(each.split("=", 1) for each in variables.split())
        assert misspelt(given) == {}
        with monkeypatch.context() as patched:
            for name, value in given.items():
                patched.setenv(name, value)
            settings.load_settings()
            assert isinstance(raised_by(words, patched), Taken), words


@pytest.mark.parametrize(
    "words", ["reply list", "replay build", "replay build A", "check --tables x", "backfill --from 2026 --to 2025"]
)
def test_example_that_is_none_is_not_taken(words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not isinstance(raised_by(words.split(), monkeypatch), Taken)
