"""Which topics and tables a command reads and writes."""

from collections.abc import Iterable
from dataclasses import dataclass

from pipelines import commands
from pipelines.commands import Command
from pipelines.contracts.topics import INPUT_TOPICS, PACKAGE_REPORTS, intake_of
from pipelines.graph import FLOWS
from pipelines.settings import Settings
from pipelines.state.replay_records import Replays
from pipelines.tables import (
    BRONZE_SHIP_EVENTS,
    BRONZE_SHIP_ROUTES,
    EXPECTED,
    OPS_EXPIRED_REPORTS,
    OPS_QUALITY,
    SILVER_QUARANTINE,
    SILVER_SHIP_EVENTS,
    SILVER_SHIP_ROUTES,
    TABLES,
    Table,
)

SILVER = (SILVER_SHIP_EVENTS, SILVER_SHIP_ROUTES)
BRONZE = (BRONZE_SHIP_EVENTS, BRONZE_SHIP_ROUTES)
LOG = tuple(topic.name for topic in INPUT_TOPICS)
GOLD = tuple(table for table in TABLES if table.layer == "gold")


@dataclass(frozen=True)
class PlacedTable:
    """A table of the lake under a root."""

    root: str
    table: Table

    @property
    def path(self) -> str:
        return f"{self.root}/{self.table.folder}"


@dataclass(frozen=True)
class Touched:
    """What a command reads and writes, as far as its parameters say.

    Attributes:
        inputs: Tables that it reads.
        outputs: Tables that it may write.
        reads: Topics that it reads.
        writes: Topics that it may write.
    """

    inputs: tuple[PlacedTable, ...] = ()
    outputs: tuple[PlacedTable, ...] = ()
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


def touched(command: Command, settings: Settings) -> Touched:
    """Raises `TypeError` for a command of which nothing is known."""
    live, shadow = settings.lake_root, Replays(settings.lake_root).root

    def made(inputs: Iterable[Table], outputs: Iterable[Table] = (), *, log: bool = False, at: str = live) -> Touched:
        return Touched(_at(at, inputs), _at(live, outputs), LOG if log else ())

    match command:
        case commands.Seal():
            intake = (intake_of(topic, settings.seal.intake_hours).name for topic in INPUT_TOPICS)
            return Touched(reads=tuple(intake), writes=LOG)
        case commands.Erase():
            return Touched(writes=(PACKAGE_REPORTS.name,))
        case commands.Stream():
            return made((), TABLES, log=True)
        case commands.ReplayBuild(replay_id=name):
            return Touched(_at(live, BRONZE), _at(shadow(name), TABLES), LOG)
        case commands.ReplayCompare(replay_id=name):
            return Touched((*_at(live, TABLES), *_at(shadow(name), TABLES)))
        case commands.ReplayPromote(replay_id=name):
            return made(TABLES, TABLES, at=shadow(name))
        case commands.ReplayRollback():
            return made(TABLES, TABLES)
        case commands.ReplayVerify():
            return made(TABLES, log=True)
        case commands.QuarantineRedrive(dry_run=is_dry):
            return made((SILVER_QUARANTINE,), () if is_dry else TABLES)
        case commands.Backfill(tables=names, dry_run=is_dry):
            caught_up = (flow.into for flow in FLOWS if flow.catch_up_group)
            chosen = [table for table in caught_up if not names or table.name in names]
            return made((SILVER_SHIP_EVENTS,), () if is_dry else chosen)
        case commands.Rebuild(tables=names):
            return made(SILVER, [table for table in GOLD if table.name in names])
        case commands.Expire(dry_run=is_dry):
            return made(GOLD, () if is_dry else (*GOLD, OPS_EXPIRED_REPORTS))
        case commands.Compact(dry_run=is_dry):
            return made(TABLES, () if is_dry else TABLES)
        case commands.Check(tables=names):
            return made([table for table in EXPECTED if not names or table.name in names], (OPS_QUALITY,))
        case commands.Verify():
            return made(TABLES)
    raise TypeError(f"It is not known what {type(command).__name__} reads and writes.")


def _at(root: str, tables: Iterable[Table]) -> tuple[PlacedTable, ...]:
    return tuple(PlacedTable(root, table) for table in tables)
