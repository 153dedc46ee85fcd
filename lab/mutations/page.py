"""The page `docs/mutations.md`, derived from the list."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from lab.mutations.mutation import Mutation

INTRODUCTION = """\
# Mutations

Generated from the lists in `lab/mutations` by `python -m lab.mutations --docs > docs/mutations.md`; a test compares
the two. Change the list, not this page.

A test that cannot fail proves nothing. So each rule that gives the tables their meaning is broken here on purpose, one
place at a time: the code is copied, one expression in the copy is changed, and the test named beside it must fail
there. `make mutations` does all of it; `python -m lab.mutations <text>` those whose rule, fault, file or test
contain the text. First, all the tests that are named must pass in a copy in which nothing is changed.

Left out are changes after which the tables are the same. For example: `rank` for `row_number` (no two stops of a
window are equal in count and in all four names), `empty` after `not_utf8` (no bytes are valid UTF-8), `too_late` before
`from_the_future` (no time is both)."""


def mutations_page(mutations: Sequence[Mutation]) -> str:
    """The whole page in Markdown, ending with a line break; mutations in the order of the list."""
    return "\n".join([INTRODUCTION, "", f"{len(mutations)} mutations:", "", *_table(mutations)]) + "\n"


def _table(mutations: Sequence[Mutation]) -> Iterator[str]:
    yield "| rule | broken | the test that fails |"
    yield "|---|---|---|"
    for rule, of_rule in groupby(mutations, key=lambda mutation: mutation.rule):
        for number, mutation in enumerate(of_rule):
            path = mutation.path.removeprefix("pipelines/")
            test = mutation.test.removeprefix("tests/").replace("::", "`<br>`")
            yield f"| {_cell(rule) if not number else ''} | {_cell(mutation.broken)} (`{path}`) | `{test}` |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
