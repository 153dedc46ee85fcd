"""The page `docs/expectations.md`, derived from the suites.

python -m expectations.docs > docs/expectations.md
"""

import sys
from collections.abc import Iterator

from expectations.suites import SUITES
from expectations.truth import Suite, Truth
from pipelines.settings import Quality

INTRODUCTION = """\
# Expectations

Generated from the suites in `expectations` by `python -m expectations.docs > docs/expectations.md`; a test compares the
two. Change the suite, not this page.

What `pts check` judges: each expectation is one number about the lake at one batch, and the bounds within which it is
as it should be. A critical one that is not met ends the command with code 17; a warning does not. Bounds of warnings
are the defaults of the settings `PTS_QUALITY__…`. What a constraint says of every row ([tables](tables.md)) is not
judged again."""


def expectations_page() -> str:
    """The whole page in Markdown, ending with a line break."""
    return "\n\n".join([INTRODUCTION, *("\n".join(_section(suite)) for suite in SUITES)]) + "\n"


def _section(suite: Suite) -> Iterator[str]:
    yield f"## {suite.table.name}"
    yield ""
    yield "| expectation | severity | expected | meaning | catches | what to do |"
    yield "|---|---|---|---|---|---|"
    yield from map(_row, suite.truths)


def _row(truth: Truth) -> str:
    least, most = truth.within(Quality())
    bounds = f"{least:.3g}" if least == most else f"{least:.3g} to {most:.3g}"
    return f"| `{truth.name}` | {truth.severity} | {bounds} | {truth.meaning} | {truth.catches} | {truth.remedy} |"


if __name__ == "__main__":
    sys.stdout.write(expectations_page())
