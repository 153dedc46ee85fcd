"""The page `docs/tables.md`, derived from the records.

python -m pipelines.tables.docs > docs/tables.md
"""

import sys
from collections.abc import Iterator

from pipelines.tables import NOT_IN_THE_LEDGER, TABLES, Column, Table

INTRODUCTION = """\
# Tables

Generated from the records in `pipelines/tables` by `python -m pipelines.tables.docs > docs/tables.md`; a test compares
the two. Change the record, not this page.

Each table is a Delta table at `$PTS_LAKE/<schema>/<table>`. Times are UTC, to the microsecond. "Required" is NOT NULL.
A row that breaks a constraint stops the job: bad input is in the quarantine before a constraint could see it.

Where history is corrected (a promotion, its rollback, a re-drive) or a checkpoint was lost, the files of a table are
replaced in one commit, also of those to which rows are only ever added."""


DOCUMENTED = (*TABLES, *NOT_IN_THE_LEDGER)


def tables_page() -> str:
    """The whole page in Markdown, ending with a line break; tables in the order in which a batch writes them."""
    parts = [INTRODUCTION, "\n".join(_index()), *("\n".join(_section(table)) for table in DOCUMENTED)]
    return "\n\n".join(parts) + "\n"


def _index() -> Iterator[str]:
    yield "| table | grain |"
    yield "|---|---|"
    for table in DOCUMENTED:
        yield f"| [`{table.name}`](#{_anchor(table)}) | {_cell(table.grain)} |"


def _section(table: Table) -> Iterator[str]:
    yield f"## {table.name}"
    yield ""
    yield f"{table.doc}"
    yield ""
    yield f"- Grain: {table.grain}."
    yield f"- Key: {_names(table.key)}."
    if table.z_order_by:
        yield f"- Compaction orders rows along: {_names(table.z_order_by)}."
    yield f"- Minima and maxima are kept of: {_names(table.statistics or table.key)}."
    if table.measures:
        yield f"- Add up over parts of the log: {_names(table.measures)}."
    if table.expiry:
        kept = f"{table.expiry.after.days} days before the newest accepted scan"
        yield f"- `pts expire` removes {table.expiry.rows} whose `{table.expiry.column}` is more than {kept}."
    kind = "only ever added, but where history is corrected" if table.is_append_only else "added, and replaced by key"
    yield f"- Rows are {kind}. Owner: {table.owner}."
    yield f"- Record: `pipelines/tables/{table.name.replace('.', '_')}.py`."
    yield ""
    yield "| column | type | required | meaning |"
    yield "|---|---|---|---|"
    yield from map(_row, table.columns)
    if table.constraints:
        yield ""
        yield "| constraint | condition |"
        yield "|---|---|"
        for name, condition in table.constraints.items():
            yield f"| `{name}` | `{_cell(condition)}` |"


def _row(column: Column) -> str:
    type_ = column.type.replace("`", "")
    return f"| `{column.name}` | `{type_}` | {'yes' if column.is_required else ''} | {_cell(column.doc)} |"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _anchor(table: Table) -> str:
    """How Markdown renderers name a heading: in lower case, without the full stop."""
    return table.name.replace(".", "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(tables_page())
