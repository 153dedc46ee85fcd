"""`pts replay compare`: live and shadow cut at the same as-of batch, row for row.

Nothing is collected but counts and samples.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from pipelines.commands import ReplayCompare
from pipelines.errors import InvalidInput, NotFound, UndeclaredDifference
from pipelines.io.duckdb.reader import LakeReader
from pipelines.io.spark.failures import explained
from pipelines.io.storage.files import files_at
from pipelines.progress import part
from pipelines.replay.compared import Compared, TableCompared
from pipelines.replay.difference import Pair
from pipelines.replay.page import page as html_page
from pipelines.settings import Settings
from pipelines.state.replay_records import Comparison, Replays
from pipelines.state.snapshots import snapshot
from pipelines.tables import TABLES, Table

DIFFERENCES = "_differences"


def run(command: ReplayCompare, settings: Settings) -> Compared:
    """Compares every table but the ledger, and notes in the replay's record what was found.

    Rows that differ stay beside the shadow's tables as Parquet, `_differences/<table>/rows`: `kind`, `live`, `shadow`.

    Raises:
        InvalidInput: A declared difference names no table or column, or the page has no folder.
        NotFound: There is no such replay; it is not built up to its as-of batch; or versions are gone.
        AnotherWriter: Another command works on a replay.
    """
    declared = {table.name: _declared(table, command.expect) for table in TABLES}
    if unknown := [each for each in command.expect if not any(_names(table, each) for table in TABLES)]:
        raise InvalidInput(
            f"{', '.join(unknown)} is no table and no column: write schema.table or schema.table.column."
        )
    if command.html and not Path(command.html).parent.is_dir():
        raise InvalidInput(f"{Path(command.html).parent} is no folder: the page {command.html} cannot be written.")
    replays = Replays(settings.lake_root)
    with replays.one_at_a_time():
        replay, root = replays.load(command.replay_id), replays.root(command.replay_id)
        if replay.built is None:
            raise NotFound(
                f"The replay {replay.replay_id} is not at its as-of batch yet: `pts replay build {replay.replay_id}` "
                "brings it there."
            )
        live, shadow = snapshot(settings.lake_root, replay.fence).versions, snapshot(root, replay.built).versions
        files_at(root).delete_folder(DIFFERENCES)
        pair = Pair(LakeReader(settings.lake_root, live), LakeReader(root, shadow))
        with explained():
            tables = tuple(_compared(pair, table, declared[table.name], root) for table in TABLES if table.follows_log)
        html = Path(command.html or settings.replay_pages / replay.replay_id / "compare.html").resolve()
        html.parent.mkdir(parents=True, exist_ok=True)
        found = Compared(
            replay_id=replay.replay_id,
            fence=replay.fence,
            compared_at=datetime.now(UTC),
            declared=command.expect,
            tables=tables,
            page=str(html),
        )
        html.write_text(html_page(found), encoding="utf-8")
        comparison = Comparison(
            compared_at=found.compared_at,
            live_versions=live,
            shadow_versions=shadow,
            declared=command.expect,
            differing={table.table: table.differing for table in tables if table.differing},
            has_passed=not found.undeclared,
        )
        replays.save(replay.model_copy(update={"comparison": comparison}))
    return found


def _compared(pair: Pair, table: Table, declared: frozenset[str], root: str) -> TableCompared:
    with part(f"Comparing {table.name}"):
        return pair.compared(table, declared, f"{root}/{DIFFERENCES}/{table.name}")


def raise_if_undeclared(found: Compared) -> None:
    """Raises `UndeclaredDifference` when rows differ for which nobody said that they would."""
    if found.undeclared:
        names = ", ".join(table.table for table in found.tables if table.undeclared)
        raise UndeclaredDifference(
            f"{found.undeclared:,} rows of {names} differ in what was not declared. Look at {found.page}; if that is "
            "what was wanted, declare it with --expect."
        )


def _names(table: Table, text: str) -> bool:
    return text == table.name or text in {f"{table.name}.{name}" for name in table.column_names}


def _declared(table: Table, expect: Sequence[str]) -> frozenset[str]:
    """The columns of a table that may differ; all of them, and with them whole rows, when the table itself is named."""
    if table.name in expect:
        return frozenset(table.column_names)
    return frozenset(name for name in table.column_names if f"{table.name}.{name}" in expect)
