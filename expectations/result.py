"""What a check found."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal

from expectations.truth import Severity
from pipelines.errors import ExpectationFailed
from pipelines.values import iso_utc

Outcome = Literal["met", "failed", "error", "unknown"]
OUTCOMES: tuple[Outcome, ...] = ("met", "failed", "error", "unknown")


@dataclass(frozen=True)
class Result:
    """What became of one expectation; the columns of `ops.quality` say what each part means. `example` is the first
    violation in a sentence, where there is one.
    """

    table_name: str
    expectation: str
    severity: Severity
    outcome: Outcome
    observed: float | None
    at_least: float
    at_most: float
    remedy: str
    example: str | None = None

    @property
    def fails(self) -> bool:
        """Whether the check fails by it. A warning that could not be evaluated is no warning, but a defect."""
        return self.outcome == "error" or (self.outcome == "failed" and self.severity == "critical")

    @property
    def warns(self) -> bool:
        return self.outcome == "failed" and self.severity == "warning"

    @property
    def sentence(self) -> str:
        if self.outcome == "error":
            return f"{self.table_name} {self.expectation} could not be evaluated: its page has the error"
        first = f"{self.example}. " if self.example else ""
        return (
            f"{self.table_name} {self.expectation} is {_number(self.observed)}, expected {_number(self.at_least)} to "
            f"{_number(self.at_most)}: {first}{self.remedy.rstrip('.')}"
        )


@dataclass(frozen=True)
class Checked:
    """The results of one run of `pts check`.

    Attributes:
        checked_at: When it began.
        batch_id: The batch at which the tables were read.
        results: One per expectation.
        page: Path of the page (Data Docs) that shows them.
    """

    checked_at: datetime
    batch_id: int
    results: tuple[Result, ...]
    page: str

    @property
    def failures(self) -> list[Result]:
        return [result for result in self.results if result.fails]

    @property
    def warnings(self) -> list[Result]:
        return [result for result in self.results if result.warns]

    @property
    def outcome(self) -> str:
        """`failed`, `warned` or `met`."""
        return "failed" if self.failures else "warned" if self.warnings else "met"

    def as_json(self) -> dict[str, Any]:
        """The run, as JSON carries it."""
        return {
            "outcome": self.outcome,
            "batch_id": self.batch_id,
            "checked_at": iso_utc(self.checked_at),
            "counts": {outcome: sum(each.outcome == outcome for each in self.results) for outcome in OUTCOMES},
            "failures": _as_json(self.failures),
            "warnings": _as_json(self.warnings),
            "page": self.page,
        }


def raise_if_failed(found: Checked) -> None:
    """Raises `ExpectationFailed` when a critical expectation failed, or any could not be evaluated; it names each."""
    if found.failures:
        sentences = ". ".join(result.sentence for result in found.failures)
        raise ExpectationFailed(f"At batch {found.batch_id}: {sentences}. Page: {found.page}")


def _as_json(results: Iterable[Result]) -> list[dict[str, Any]]:
    return [asdict(result) for result in results]


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:,.4g}" if value % 1 else f"{value:,.0f}"
