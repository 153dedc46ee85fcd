"""Which old versions of the tables somebody still needs, however old they are."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipelines.errors import NotFound
from pipelines.io.duckdb.reader import LakeReader
from pipelines.state.replay_records import Replay, Replays
from pipelines.state.snapshots import snapshot
from pipelines.tables import OPS_BATCHES

Versions = Mapping[str, int]
"""Version by table name."""


@dataclass(frozen=True)
class Needed:
    """What must stay readable.

    Attributes:
        versions: By table name.
        replays: Names of the replays that need some of them, until they are dropped.
    """

    versions: Mapping[str, frozenset[int]]
    replays: tuple[str, ...]


def needed(lake_root: str) -> Needed:
    """What must stay readable of a lake in a folder, besides what is young:

    - the newest consistent batch, which `pts verify`, `pts snapshot` and `pts backfill` read, also when the job has
      stood still for long;
    - each version since the ledger's last row: a batch that was cut off goes on from the files that its commits added;
    - of a replay, the live tables before its promotion, to which `pts replay rollback` goes back; else those at its
      as-of batch, with which it is compared.

    Versions that the log has lost nobody can read any more; they are left out.

    Raises `NotFound` when there are no tables yet, `LakeMismatch` when a replay's record or a table cannot be read.
    """
    reader, replays = LakeReader(lake_root), Replays(lake_root).all()
    pinned = {replay.replay_id: _of(replay, replays, lake_root) for replay in replays}
    wanted = [_at(lake_root), *_since_the_ledger(reader), *pinned.values()]
    return Needed(
        versions={
            name: frozenset(
                version
                for version in {each[name] for each in wanted if name in each}
                if _is_readable(lake_root, name, version)
            )
            for name in reader.table_names()
        },
        replays=tuple(name for name, versions in pinned.items() if versions),
    )


def _of(replay: Replay, replays: Sequence[Replay], lake_root: str) -> Versions:
    done = [promotion for promotion in replay.promotions if promotion.done_at]
    rolled_back = {each.replay_id for each in replays if each.promotions}
    if done and done[-1].way_back not in rolled_back:
        return done[-1].before
    return _at(lake_root, replay.fence)


def _at(lake_root: str, batch_id: int | None = None) -> Versions:
    """The tables at a batch, the newest complete one without; nothing when they cannot be read there."""
    try:
        return snapshot(lake_root, batch_id).versions
    except NotFound:
        return {}


def _since_the_ledger(reader: LakeReader) -> Iterator[Versions]:
    last = reader.query(f"SELECT tables FROM {OPS_BATCHES.name} ORDER BY batch_id DESC LIMIT 1").to_pylist()
    known = {state["table_name"]: state["version"] for row in last for state in row["tables"]}
    for name, version in known.items():
        for each in range(version, reader.open(name).version() + 1):
            yield {name: each}


def _is_readable(lake_root: str, name: str, version: int) -> bool:
    try:
        LakeReader(lake_root, {name: version}).open(name)
    except NotFound:
        return False
    return True
