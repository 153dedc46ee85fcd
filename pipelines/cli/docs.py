"""Pages of the reference, derived from the commands, the settings and the errors that there are.

python -m pipelines.cli.docs cli > docs/reference/cli.md          (settings, exit-codes, metrics: the same)
"""

import re
import sys
from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from pipelines import errors, metrics
from pipelines.cli.main import app
from pipelines.settings import Settings
from pipelines.settings_variables import setting_lines

GENERATED = "Generated from the code by `make docs`; a test compares the two."

OTHER_CODES = (
    (0, "", "Done, or stopped when asked to."),
    (1, "", "A defect, with its traceback; or the reader of a pipe went away."),
    (130, "", "Ctrl-C; `pts up`, `pts demo` and `pts simulate` end with 0."),
)


def cli_page() -> str:
    """Every command with its usage, arguments, options, defaults and help; Markdown."""
    root = typer.main.get_command(app)
    parts = ["# Command line", f"{GENERATED} In a clone, `pts` is `.venv/bin/pts`.", f"{root.help}"]
    return (
        "\n\n".join([*parts, *(part for name, each in _commands(root, "pts") for part in _command(name, each))]) + "\n"
    )


def _commands(group: Any, path: str) -> Iterator[tuple[str, TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, f"{path} {name}")
        else:
            yield f"{path} {name}", command


def _command(name: str, command: TyperCommand) -> Iterator[str]:
    shown: list[Any] = [each for each in command.params if not getattr(each, "hidden", False)]
    usage = [name]
    usage += ["[OPTIONS]"] if any(each.param_type_name == "option" for each in shown) else []
    usage += [_placeholder(each) for each in shown if each.param_type_name == "argument"]
    yield f"## {name}"
    yield (command.help or "").strip()
    yield f"```text\n{' '.join(usage)}\n```"
    if shown:
        rows = [f"| {_spelt(each)} | {_default(each)} | {_cell(each.help or '')}{_choices(each)} |" for each in shown]
        yield "\n".join(["| | default | |", "|---|---|---|", *rows])


def _placeholder(argument: Any) -> str:
    text: str = f"{argument.name.upper()}{'...' * (argument.nargs == -1)}"
    return text if argument.required else f"[{text}]"


def _spelt(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{_placeholder(parameter)}`"
    return ", ".join(f"`{name}`" for name in parameter.opts) + (" (may be given again)" if parameter.multiple else "")


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
    return "" if value is None or value is False or value == "" else f"`{value}`"


def _choices(parameter: Any) -> str:
    """A sentence with the values of an enumeration; empty of any other type."""
    kind = parameter.type_descriptor.annotation
    kind = next(iter(get_args(kind)), kind) if get_origin(kind) is list else kind
    if isinstance(kind, type) and issubclass(kind, Enum):
        values = [str(each.value) for each in kind]
    else:
        values = list(get_args(kind)) if get_origin(kind) is Literal else []
    return f" One of {', '.join(f'`{each}`' for each in values)}." if values else ""


def settings_page() -> str:
    """Every setting with its default and its description, group by group; Markdown."""
    lines = setting_lines(Settings.model_construct(), {})
    groups: dict[str, list[str]] = {}
    for line in lines:
        group = line.variable.rpartition("__")[0].removeprefix("PTS_") or "PTS"
        value = "" if line.value in (None, "", {}) else f"`{line.value}`"
        groups.setdefault(group, []).append(f"| `{line.variable}` | {value} | {_cell(line.description)} |")
    introduction = (
        f"{GENERATED} Settings are environment variables. None is needed for the demo; `pts settings` prints each "
        "value in force and where it came from."
    )
    parts = ["# Settings", introduction]
    for group, rows in groups.items():
        title = "General" if group == "PTS" else group.replace("__", ": ").replace("_", " ").capitalize()
        parts.append(f"## {title}")
        parts.append("\n".join(["| variable | default | |", "|---|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def exit_codes_page() -> str:
    """Every exit code with its error and what it means, in their order; Markdown."""
    kinds = [(kind.exit_code, f"`{kind.__name__}`", _first(kind.__doc__)) for kind in errors.PtsError.__subclasses__()]
    rows = [f"| {code} | {name} | {_cell(text)} |" for code, name, text in sorted([*OTHER_CODES, *kinds])]
    introduction = (
        f"{GENERATED} A command that fails says in one sentence what is wrong and what to do. What to do for each code "
        "is in the [runbook](../runbook.md#by-exit-code)."
    )
    return "\n\n".join(["# Exit codes", introduction, "\n".join(["| code | error | |", "|---|---|---|", *rows])]) + "\n"


SOURCES = (
    ("The job", metrics.JOB, "Of `pts stream`, at `PTS_METRICS__PORT`."),
    ("The API", metrics.API, "Of `pts api`, at `PTS_METRICS__API_PORT`."),
    ("The board", metrics.BOARD, "Of `pts board`, at `/metrics` of its own port, for who may see its pages."),
    ("SQL for tools", metrics.SQL, "Of `pts sql-server`, at `PTS_METRICS__SQL_PORT`."),
    ("Sealing", metrics.SEAL, "Of `pts seal`, at `PTS_METRICS__SEAL_PORT`."),
)


def metrics_page() -> str:
    """Every metric with its type, labels and meaning, process by process; Markdown."""
    introduction = (
        f"{GENERATED} How they are scraped, and what alerts are made of them, is in "
        "[observability](../observability.md#prometheus)."
    )
    parts = ["# Metrics", introduction]
    for title, of_it, where in SOURCES:
        rows = [
            f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels)} | {_cell(each.doc)} |"
            for each in of_it
        ]
        parts += [f"## {title}", where, "\n".join(["| metric | type | labels | |", "|---|---|---|---|", *rows])]
    return "\n\n".join(parts) + "\n"


def _first(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


def _cell(text: str) -> str:
    """The text in a cell of a table, in which names with underscores or `…` stay as they are."""
    return re.sub(r"(?<![`\w])(PTS_[A-Z_]*…?|\$PTS_[\w/]+)(?!`)", r"`\1`", text.replace("|", "\\|"))


PAGES = {"cli": cli_page, "settings": settings_page, "exit-codes": exit_codes_page, "metrics": metrics_page}

if __name__ == "__main__":
    sys.stdout.write(PAGES[sys.argv[1]]())
