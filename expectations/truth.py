"""An expectation as data: one number about the lake at a batch, and the bounds within which it is as it should be."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from pipelines.checks.verify_checks import STAGES, Check, Stage
from pipelines.settings import Quality
from pipelines.tables import Table

Severity = Literal["critical", "warning"]
Bounds = tuple[float, float]


def nothing(_quality: Quality) -> Bounds:
    """Bounds that allow not one offender."""
    return 0, 0


@dataclass(frozen=True)
class Truth:
    """One expectation of a table.

    Attributes:
        name: Unique within the table.
        meaning: The claim in one sentence.
        sql: A query for one number (DuckDB). Tables have their names and show the rows of the batch, `batch_count` the
            ledger's counts by batch and topic; the variable `now` is the moment of the check. Null: there is nothing
            yet to judge by, which only a warning may say.
        catches: Which failure of the real world it finds.
        remedy: What the person on call does.
        severity: A `critical` one that does not hold fails the check; a `warning` does not.
        within: The lowest and the highest number that are as they should be. Rules are code; what is a matter of
            judgement is a setting.
        is_of_now: Speaks of the moment of the check, so of the newest batch only.
        stage: What the query needs besides.
        check: That of `pts verify` whose violations are counted: it tells the first one.
    """

    name: str
    meaning: str
    sql: str
    catches: str
    remedy: str
    severity: Severity = "critical"
    within: Callable[[Quality], Bounds] = nothing
    is_of_now: bool = False
    stage: Stage | None = None
    check: Check | None = None

    @property
    def note(self) -> str:
        return f"{self.meaning} Catches: {self.catches} To do: {self.remedy}"


@dataclass(frozen=True)
class Suite:
    """All that is expected of a table."""

    table: Table
    truths: tuple[Truth, ...]


CLAIMS = {check.name: (stage, check) for stage in STAGES for check in stage.checks}


def claimed(name: str, catches: str) -> Truth:
    """What a check of `pts verify` claims, as the number of its violations."""
    stage, check = CLAIMS[name]
    return Truth(
        name=name,
        meaning=f"{check.meaning.removesuffix('.')}: number of violations.",
        sql=f"SELECT count(*) FROM ({check.sql})",
        catches=catches,
        remedy=check.remedy,
        stage=stage,
        check=check,
    )
