"""`pts sql` without a query: what ends a statement, the shell's commands, completion, and statements from a pipe."""

import io
import pydoc
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document
from prompt_toolkit.input import PipeInput, create_pipe_input
from prompt_toolkit.output import DummyOutput

from pipelines import commands
from pipelines.cli import sql_shell
from pipelines.cli.sql_shell import Names, SqlShell, is_complete, statements
from pipelines.errors import InvalidInput, NotFound
from pipelines.io.delta.lake import Lake
from pipelines.settings import Settings
from pipelines.tables import OPS_BATCHES
from tests.healthy_lake import healthy_lake
from tests.permissions import permitted_beyond

pytestmark = pytest.mark.slow

ONE = "SELECT count(*) AS n FROM ops.batches;"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    healthy_lake().write(tmp_path / "lake")
    return Settings(home=tmp_path)


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def shell(settings: Settings, said: list[str]) -> SqlShell:
    return SqlShell(commands.SqlShell(), settings, "csv", said.append)


@pytest.mark.parametrize(
    ("text", "complete", "rest"),
    [
        ("SELECT 1", [], "SELECT 1"),
        ("SELECT 1;", ["SELECT 1"], ""),
        ("SELECT 1;; \n SELECT 2 ; SELECT", ["SELECT 1", "SELECT 2"], "SELECT"),
        (
            "SELECT ';', \"a;b\", 'it''s;' -- no;\n, 2 /* ; */;",
            ["SELECT ';', \"a;b\", 'it''s;' -- no;\n, 2 /* ; */"],
            "",
        ),
        ("SELECT 'a;", [], "SELECT 'a;"),
        ("SELECT 1; SELECT /* ;", ["SELECT 1"], "SELECT /* ;"),
    ],
)
def test_semicolon_ends_a_statement_but_in_quotations_and_remarks(text: str, complete: list[str], rest: str) -> None:
    assert statements(text) == (complete, rest)


@pytest.mark.parametrize(
    ("text", "ends"), [("", True), (r"\d", True), ("quit", True), ("SELECT 1", False), ("SELECT 1; ", True)]
)
def test_enter_ends_what_is_complete(text: str, ends: bool) -> None:
    assert is_complete(text) is ends


def test_each_statement_is_answered(shell: SqlShell, said: list[str]) -> None:
    shell.read(f"{ONE} SELECT 42 AS answer")
    assert said == ["n\n5", "answer\n42"]


def test_tables_and_columns_are_told_with_their_meaning(shell: SqlShell, said: list[str], settings: Settings) -> None:
    shutil.rmtree(Path(settings.lake_root, OPS_BATCHES.folder))
    Lake(None, settings.lake_root).ensure(OPS_BATCHES)  # as the job makes it: with comments
    shell.read(r"\d")
    shell.read(r"\d ops.batches")
    tables, columns = said
    assert '\nops.batches,"What every micro-batch read and wrote. ' in tables
    assert '\nbatch_id,bigint,"Counts up by one' in columns
    assert '\noffsets,"struct(kafka_topic string, kafka_partition int, ' in columns
    with pytest.raises(NotFound, match=r"no table ops\.nothing; there are bronze\.ship_events, "):
        shell.read(r"\d ops.nothing")


def test_tables_are_shown_as_they_were_after_a_batch_until_they_are_wanted_as_they_are(
    shell: SqlShell, said: list[str]
) -> None:
    shell.read(r"\at 3")
    assert shell.prompt == "pts at batch 3> "
    shell.read(ONE)
    shell.read(r"\at now")
    shell.read(ONE)
    assert said == ["n\n4", "n\n5"]
    with pytest.raises(InvalidInput, match="batch: "):
        shell.read(r"\at sea")


def test_time_is_told_when_it_is_wanted(shell: SqlShell, said: list[str]) -> None:
    for text in (r"\timing", ONE, r"\timing", ONE):
        shell.read(text)
    on, first, seconds, off, second = said
    assert (on, off) == ("Timing is on.", "Timing is off.")
    assert first == second
    assert float(seconds.removesuffix(" s")) > 0


def test_what_is_no_query_and_no_command_is_refused(shell: SqlShell) -> None:
    with pytest.raises(InvalidInput, match="Only a query"):
        shell.read("DROP TABLE ops.batches;")
    with pytest.raises(InvalidInput, match=r"\\x is no command"):
        shell.read(r"\x")


@pytest.mark.parametrize(
    ("text", "offered", "not_offered"),
    [
        ("SELECT * FROM ops.b", {"ops.batches"}, {"gold.busiest_stops"}),
        ("SELECT batch", {"batch_id"}, {"tracking_number"}),
        ("FROM gold.remaining_stops SELECT tr", {"tracking_number", "trim"}, {"batch_id"}),
        ("sel", {"SELECT"}, {"FROM"}),
    ],
)
def test_words_are_completed(text: str, offered: set[str], not_offered: set[str], settings: Settings) -> None:
    found = {each.text for each in Names(settings).get_completions(Document(text), CompleteEvent())}
    assert offered <= found
    assert not found & not_offered


def test_lake_without_tables_completes_the_words_of_sql(tmp_path: Path) -> None:
    found = [each.text for each in Names(Settings(home=tmp_path)).get_completions(Document("sel"), CompleteEvent())]
    assert found == ["SELECT"]


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[PipeInput]:
    """What is typed at a terminal."""
    monkeypatch.setattr(sys, "stdin", type("Terminal", (io.StringIO,), {"isatty": lambda _: True})())
    with create_pipe_input() as typed, create_app_session(input=typed, output=DummyOutput()):
        yield typed


def test_shell_goes_on_after_what_is_refused_and_keeps_its_history_to_itself(
    settings: Settings, keyboard: PipeInput, capsys: pytest.CaptureFixture[str]
) -> None:
    keyboard.send_text("SELECT 1 AS\rone;\rSELECT nope;\r\x03" + ONE + "\r\\q\r")
    sql_shell.run(commands.SqlShell(), "csv", settings)
    out, err = capsys.readouterr()
    assert out.splitlines()[1:] == ["one", "1", "n", "5"]
    assert err.startswith("DuckDB rejects the query: ")
    history = settings.home / "sql_history"
    assert "+one;" in history.read_text()
    assert permitted_beyond(0o077, history) == {}


def test_long_answers_go_through_the_pager(
    settings: Settings, keyboard: PipeInput, monkeypatch: pytest.MonkeyPatch
) -> None:
    paged: list[str] = []
    monkeypatch.setattr(pydoc, "pager", paged.append)
    keyboard.send_text("FROM range(3);\rFROM range(100);\r\x04")
    sql_shell.run(commands.SqlShell(), "csv", settings)
    assert [text.count("\n") for text in paged] == [100]


def test_statements_come_through_a_pipe_and_the_first_that_is_refused_ends_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{ONE}\nSELECT nope;\n{ONE}"))
    with pytest.raises(InvalidInput, match="DuckDB rejects the query"):
        sql_shell.run(commands.SqlShell(), "csv", settings)
    assert capsys.readouterr().out == "n\n5\n"
