"""An expectation as data: one number about the lake at a batch, and the bounds within which it is as it should be."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pipelines.settings import Quality
from pipelines.tables import Table

Severity = Literal["critical", "warning"]
Bounds = tuple[float, float]


def nothing(_quality: Quality) -> Bounds:
    """Not one offender."""
    return 0, 0


@dataclass(frozen=True)
class Truth:
    """One expectation of a table.

    Attributes:
        name: Unique within the table.
        meaning: The claim in one sentence.
        sql: A query for one number (Spark SQL). Tables have their names and show the rows of the batch; `{now}` is the
            moment of the check, `is_kept` speaks of others. Null: there is nothing yet to judge by, which only a
            warning may say.
        catches: Which failure of the real world it finds.
        remedy: What the person on call does.
        severity: A `critical` one that does not hold fails the check; a `warning` does not.
        within: The lowest and the highest number that are as they should be. Rules are code; what is a matter of
            judgement is a setting.
        is_of_now: Speaks of the moment of the check, so of the newest batch only.
    """

    name: str
    meaning: str
    sql: str
    catches: str
    remedy: str
    severity: Severity = "critical"
    within: Callable[[Quality], Bounds] = nothing
    is_of_now: bool = False

    @property
    def note(self) -> str:
        return f"{self.meaning} Catches: {self.catches} To do: {self.remedy}"


@dataclass(frozen=True)
class Suite:
    """All that is expected of a table."""

    table: Table
    truths: tuple[Truth, ...]


def parameter(table: Table) -> str:
    """What stands, in braces, for the moment before which the table has let rows go."""
    return f"{table.name.replace('.', '_')}_kept_from"


def is_kept(moment: str, *tables: Table) -> str:
    """SQL: whether none of the tables has let go of rows of that moment."""
    return " AND ".join(f"{moment} >= {{{parameter(table)}}}" for table in tables)


def made_anew(table: Table) -> str:
    """What to do about a table that is a function of silver."""
    return f"`pts verify` names the row; `pts rebuild {table.name}` makes the table anew from silver."
