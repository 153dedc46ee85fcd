"""A check of the tables as data, so that the list of them reads like a specification."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pipelines.errors import printable
from pipelines.tables import Table
from pipelines.values import iso_utc

MOST_CHARACTERS_OF_A_VALUE = 200

RUNBOOK = "See docs/runbook.md, 'pts verify finds a violation'."


@dataclass(frozen=True)
class Check:
    """One claim about the tables.

    Attributes:
        name: The claim, short.
        meaning: The claim in one sentence.
        sql: One row per violation, the first one first (DuckDB). No row: the claim holds.
        violation: What a violation is, with columns of its row in braces.
        remedy: What to do about one.
    """

    name: str
    meaning: str
    sql: str
    violation: str
    remedy: str = RUNBOOK

    def sentence(self, row: Mapping[str, Any]) -> str:
        """What is wrong and what to do, from a row of the query."""
        return f"{self.name} does not hold: {self.wrong(row)}. {self.remedy}"

    def wrong(self, row: Mapping[str, Any]) -> str:
        """The violation that a row of the query is. What the records say cannot steer the terminal."""
        return self.violation.format_map({name: _text(value) for name, value in row.items()})


@dataclass(frozen=True)
class Stage:
    """Checks that share what is computed once for all of them.

    Attributes:
        prepare: Statements that create temporary tables and macros, in order; later stages see them, too. The variable
            `batch_id` is the batch at which the tables are read.
        checks: In order: each may rely on those before it, and on the stages before this one.
    """

    prepare: tuple[str, ...]
    checks: tuple[Check, ...]


def rebuild_remedy(table: Table) -> str:
    """The remedy for a table that is a function of silver."""
    return f"`pts rebuild {table.name}` rebuilds it from silver."


def coordinates(topic: str, partition: str = "kafka_partition", offset: str = "kafka_offset") -> str:
    """SQL for `ship-events/0@9`; null without a partition and an offset."""
    return f"{topic} || '/' || {partition} || '@' || {offset}"


def _text(value: Any) -> str:
    match value:
        case None:
            return "none"
        case datetime():
            return iso_utc(value)
        case list():
            return ", ".join(map(_text, value)) or "none"
        case _:
            return printable(str(value), MOST_CHARACTERS_OF_A_VALUE)
