"""Every command that README, tutorial and how-tos tell a reader to run is run; every other page's exists."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from pipelines.cli.main import app
from tests.calling import Pts
from tests.docs.pages import NOT_RUN, READ, ROOT, RUN, Block, blocks, inline_commands, pages, run_blocks
from tests.healthy_lake import healthy_lake

UNMARKED = [each for each in run_blocks() if each.test is None]
NOT_HERE = re.compile(r"^ *\$ (docker|kubectl) ", re.MULTILINE)
"""Programs that a `console` block is for: it is not run, and its page says so."""

LANGUAGES = {"console", "sh", "python", "text", "mermaid", "sql", "json", "properties", "csv"}
COMMAND = re.compile(r"^(\$|\.venv/bin/\S+|pts|make|git|curl|export|ch(mod|grp|own)) ", re.MULTILINE)
"""A line that is one: of a transcript, or by its program."""

ASSIGNMENT = re.compile(r"[A-Z][A-Z_]*=.*")
PTS = typer.main.get_command(app)
TARGETS = re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
READ_PAGES = [path for path in pages(READ) if not str(path.relative_to(ROOT)).startswith(NOT_RUN)]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose `var/lake` is a small lake."""
    folder = tmp_path_factory.mktemp("documented")
    healthy_lake().write(folder / "var" / "lake")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("block", [each for each in UNMARKED if each.language == "sh"], ids=str)
def test_commands_of_a_page_succeed_on_a_small_lake(
    block: Block, lake: Path, pts: Pts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(lake)
    for command in block.commands():
        program, *arguments = shlex.split(command, comments=True)
        assert program in (".venv/bin/pts", "pts"), f"{block}: name the test that runs `{command}`"
        done = pts(*arguments, home=Path("var"))
        assert done.returncode == 0, f"{block}: {command}\n{done.stderr}"
        assert done.stdout.strip(), f"{block}: {command} said nothing"


@pytest.mark.parametrize("block", [each for each in UNMARKED if each.language == "python"], ids=str)
def test_python_of_a_page_reads_a_small_lake(block: Block, lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(lake)
    names: dict[str, Any] = {}
    exec(compile(block.text, str(block), "exec"), names)
    assert len(names["rows"]) > 0, "what was read is `rows`"


@pytest.mark.parametrize("block", [each for each in run_blocks() if each.test], ids=str)
def test_test_that_a_page_names_is_there_and_takes_the_block_from_the_page(block: Block) -> None:
    path, _, name = str(block.test).partition("::")
    functions = {
        each.name: each for each in ast.parse((ROOT / path).read_text()).body if isinstance(each, ast.FunctionDef)
    }
    assert name in functions, f"{block}: there is no {block.test}"
    assert "documented" in {each.arg for each in functions[name].args.args}, (
        f"{block.test} does not take it from the page"
    )


@pytest.mark.parametrize("path", pages(RUN), ids=lambda path: path.name)
def test_no_command_hides_in_another_kind_of_block(path: Path) -> None:
    for block in blocks(path):
        assert block.language in LANGUAGES, f"{block} is of no kind that is known"
        if block.language == "console":
            assert NOT_HERE.search(block.text), f"{block}: its commands can be run"
            assert "not tried" in path.read_text().lower(), f"{block}: say that it was not tried"
        else:
            assert block.language == "sh" or not COMMAND.search(block.text), f"{block}: put the command into sh"


@pytest.mark.parametrize("path", READ_PAGES, ids=lambda path: path.name)
def test_commands_that_a_page_speaks_of_are_there(path: Path) -> None:
    spoken = inline_commands(path)
    written = [command for block in blocks(path) if block.language == "sh" for command in block.commands()]
    for command in [*spoken, *written]:
        for fault in _faults(command):
            pytest.fail(f"{path.name}: `{command}`: {fault}")


def test_command_that_is_none_is_found() -> None:
    assert list(_faults("pts reply build fix")) == ["there is no command reply"]
    assert list(_faults("pts replay compare fix --expects x")) == ["there is no option --expects"]
    assert list(_faults("PTS_X=1 .venv/bin/pts stream --drain  # all of it")) == []
    assert list(_faults("make demos")) == ["there is no target demos"]


def _faults(command: str) -> Iterator[str]:
    """What is wrong with the name or the options of a command of `pts` or make; of others, nothing is known."""
    words = shlex.split(command.replace("…", ""), comments=True)
    while words and ASSIGNMENT.fullmatch(words[0]):
        words.pop(0)
    if words[:1] == ["make"]:
        yield from (
            f"there is no target {word}"
            for word in words[1:]
            if re.fullmatch(r"[a-z-]+", word) and not word.startswith("-") and word not in TARGETS
        )
    if words and words[0].removeprefix(".venv/bin/") == "pts":
        yield from _pts_faults(words[1:])


def _pts_faults(words: list[str]) -> Iterator[str]:
    command: Any = PTS
    while words and hasattr(command, "commands"):
        if words[0].startswith("-"):  # of the group itself: --help
            return
        if words[0] not in command.commands:
            yield f"there is no command {words[0]}"
            return
        command, words = command.commands[words[0]], words[1:]
    if getattr(command, "name", "") == "airflow":
        return
    known = {name for each in getattr(command, "params", ()) for name in each.opts} | {"--help", "--"}
    yield from (
        f"there is no option {word}" for word in words if word.startswith("--") and word.partition("=")[0] not in known
    )
