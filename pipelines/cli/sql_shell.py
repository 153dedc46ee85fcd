"""`pts sql` without a query: a shell for questions, or the statements that come through a pipe."""

import json
import pydoc
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from io import StringIO
from itertools import chain
from typing import Any

import pyarrow as pa
import typer
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from pipelines import commands
from pipelines.cli.common import DUCKDB_INTERRUPTED
from pipelines.cli.parameters import checked
from pipelines.errors import MOST_CHARACTERS, InvalidInput, NotFound, PtsError, printable
from pipelines.io.delta import duck
from pipelines.queries.newest import newest
from pipelines.queries.sql import query
from pipelines.settings import Settings
from pipelines.terminal.rows import Form, write_table

HELP = r"""A query ends with a semicolon, on one line or several. Tab completes; the up arrow brings back earlier ones.
  \d             tables
  \d TABLE       columns of a table
  \at BATCH      show the tables as they were after a batch; \at now: as they are
  \timing        tell how long each answer takes, or stop telling
  \?             this help
  \q, Ctrl-D     leave; Ctrl-C drops the line, or ends the query under way"""

TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\n]*|/\*.*?\*/|/\*|.""", re.DOTALL)
UNENDED = {"'", '"', "/*"}
"""Tokens that begin a quotation or a remark which does not end."""

WORD = re.compile(r"[\w.]+$")
LEAVE = {r"\q", "exit", "quit"}


def statements(text: str) -> tuple[list[str], str]:
    """The statements of a text that a semicolon ends, and what comes after the last of them."""
    complete, begin = [], 0
    for token in TOKEN.finditer(text):
        if token[0] in UNENDED:
            break
        if token[0] == ";":
            complete.append(text[begin : token.start()].strip())
            begin = token.end()
    return [statement for statement in complete if statement], text[begin:].strip()


def is_complete(text: str) -> bool:
    """Whether Enter ends the input: a semicolon is at its end, or it is a command of the shell's."""
    line = text.strip()
    return line.startswith("\\") or line in LEAVE or not statements(text)[1]


class SqlShell:
    """Answers statements and the shell's own commands, one after the other.

    Args:
        command: Says which engine answers, and after which batch tables are shown.
        settings: Say where the lake is.
        form: How answers are written.
        show: Takes the text of each answer.
    """

    def __init__(self, command: commands.SqlShell, settings: Settings, form: Form, show: Callable[[str], None]) -> None:
        self._settings = settings
        self._engine = command.engine
        self._at_batch = command.at_batch
        self._form = form
        self._show = show
        self._is_timing = False

    @property
    def prompt(self) -> str:
        """What stands before the next input."""
        return "pts> " if self._at_batch is None else f"pts at batch {self._at_batch}> "

    def read(self, text: str) -> None:
        """Answers a command, or every statement of a text.

        Raises what `pts sql` raises, at the first statement that it refuses, and `InvalidInput` for an unknown command.
        """
        if text.lstrip().startswith("\\"):
            return self._obey(text.split())
        complete, rest = statements(text)
        for statement in [*complete, *([rest] if rest else [])]:
            asked = checked(commands.Sql, query=statement, engine=self._engine, at_batch=self._at_batch)
            began = time.monotonic()
            self._answer(query(asked, self._settings))
            if self._is_timing:
                self._show(f"{time.monotonic() - began:.3f} s")
        return None

    def _obey(self, words: list[str]) -> None:
        match words:
            case [r"\d"]:
                self._answer(_tables(self._settings))
            case [r"\d", table]:
                self._answer(_columns(self._settings, table))
            case [r"\at", "now"]:
                self._at_batch = None
            case [r"\at", batch]:
                self._at_batch = checked(commands.Snapshot, at_batch=batch).at_batch
            case [r"\timing"]:
                self._is_timing = not self._is_timing
                self._show(f"Timing is {'on' if self._is_timing else 'off'}.")
            case [r"\?"]:
                self._show(HELP)
            case [command, *_]:
                raise InvalidInput(f"{command} is no command, or lacks a word: \\? lists them.")

    def _answer(self, rows: pa.Table) -> None:
        out = StringIO()
        write_table(rows, out, self._form)
        self._show(out.getvalue().rstrip("\n"))


def run(command: commands.SqlShell, form: Form, settings: Settings) -> None:
    """A shell on a terminal; elsewhere the answers to what standard input says.

    Raises what `SqlShell.read` raises. On a terminal each refusal is told in a sentence, and the shell goes on.
    """
    if not sys.stdin.isatty():
        return SqlShell(command, settings, form, typer.echo).read(sys.stdin.read())
    shell = SqlShell(command, settings, form, _show_paged)
    session = prompt_session(settings)
    typer.echo(r"Questions to the lake: \? for help, \q to leave.")
    while True:
        try:
            text = session.prompt(shell.prompt)
            if text.strip() in LEAVE:
                return None
            shell.read(text)
        except EOFError:
            return None
        except KeyboardInterrupt:
            continue
        except PtsError as error:
            typer.echo(printable(" ".join(str(error).splitlines()), MOST_CHARACTERS), err=True)
        except RuntimeError as error:
            if str(error) != DUCKDB_INTERRUPTED:
                raise


def _show_paged(text: str) -> None:
    """On the terminal; by its pager when the text has more lines."""
    if text.count("\n") + 2 < shutil.get_terminal_size().lines:
        typer.echo(text)
    else:
        pydoc.pager(text)


def _tables(settings: Settings) -> pa.Table:
    """One row per table: its name and meaning."""
    reader = newest(settings.lake_root)
    names = reader.table_names()
    return pa.table({"table": names, "meaning": [reader.open(name).metadata().description or "" for name in names]})


def _columns(settings: Settings, table: str) -> pa.Table:
    """One row per column of a table: its name, type and meaning. Raises `NotFound` for a table that is not there."""
    reader = newest(settings.lake_root)
    if table not in (names := reader.table_names()):
        raise NotFound(f"There is no table {table}; there are {', '.join(names)}.")
    fields = json.loads(reader.open(table).schema().to_json())["fields"]
    return pa.table(
        {
            "column": [field["name"] for field in fields],
            "type": [_type_text(field["type"]) for field in fields],
            "meaning": [field["metadata"].get("comment", "") for field in fields],
        }
    )


def _type_text(kind: Any) -> str:
    """A type of Delta's schema, as a person writes it."""
    match kind:
        case {"type": "array", "elementType": element}:
            return f"{_type_text(element)}[]"
        case {"type": "struct", "fields": fields}:
            parts = (f"{field['name']} {_type_text(field['type'])}" for field in fields)
            return f"struct({', '.join(parts)})"
        case _:
            return str({"long": "bigint", "integer": "int"}.get(kind, kind))


class Names(Completer):
    """Completes keywords, functions, tables and columns, as DuckDB and the lake have them when the shell begins."""

    def __init__(self, settings: Settings) -> None:
        with closing(duck.cursor()) as cursor:
            words = cursor.execute(
                "SELECT upper(keyword_name) FROM duckdb_keywords() WHERE keyword_category = 'reserved' "
                r"UNION SELECT function_name FROM duckdb_functions() WHERE regexp_full_match(function_name, '[a-z]\w*')"
            ).fetchall()
        self._words = sorted(word for (word,) in words)
        self._columns: dict[str, list[str]] = {}
        with suppress(PtsError):  # a lake that has no table yet, or that cannot be read now: questions say so
            reader = newest(settings.lake_root)
            for name in reader.table_names():
                self._columns[name] = [field.name for field in reader.open(name).schema().fields]

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Tables, the columns of those that the text names (of all, when it names none), and words that are begun."""
        word = WORD.search(document.text_before_cursor)
        begun = word[0].lower() if word else ""
        named = [columns for table, columns in self._columns.items() if table in document.text]
        columns = dict.fromkeys(chain.from_iterable(named or self._columns.values()))
        for name in (*self._columns, *columns, *(self._words if begun else ())):
            if name.lower().startswith(begun):
                yield Completion(name, start_position=-len(begun))


def prompt_session(settings: Settings) -> PromptSession[str]:
    """The prompt, with completion and a history that is kept in PTS_HOME."""
    keys = KeyBindings()

    @keys.add("enter")
    def end_or_begin_a_line(event: KeyPressEvent) -> None:
        if is_complete(event.current_buffer.text):
            event.current_buffer.validate_and_handle()
        else:
            event.current_buffer.insert_text("\n")

    settings.home.mkdir(parents=True, exist_ok=True)
    return PromptSession(
        history=FileHistory(str(settings.home / "sql_history")),
        completer=Names(settings),
        complete_while_typing=False,
        key_bindings=keys,
        lexer=PygmentsLexer(SqlLexer),
        multiline=True,
        prompt_continuation=lambda width, _line, _wraps: "...> ".rjust(width),
    )
