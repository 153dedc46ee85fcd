"""Files of the lake that are torn, empty or gone, while the job is off.

What the next start does with each is in `DAMAGES`: it goes on and loses nothing, or it refuses, by name, and goes on
once the file is restored. What it never does is go on with other tables than the log's.
"""

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from lab.faults.gaps import CHECKPOINT
from lab.faults.kills import BATCH_MOMENTS
from lab.faults.scene import Scene, sentence
from pipelines.errors import LakeMismatch

COMMITS = "_delta_log/" + "[0-9]" * 20 + ".json"
BRONZE = "bronze/ship_events"
SCANS, ROUTES = "silver/ship_events", "silver/ship_routes"
REPORTS, WINDOWS = "gold/remaining_stops", "gold/stop_activity"
LEDGER = "ops/batches"
TABLE_CHECKPOINTS = "*/*/_delta_log/*.checkpoint.parquet"

REFUSED = LakeMismatch.exit_code
REMEDY = re.compile(r"`pts (rebuild gold\.[^`]+|stream --new-checkpoint)`")
"""In a refusal."""
OF_A_CASE = 4
"""Damages, at most."""


@dataclass(frozen=True)
class Damage:
    """What happens to the newest file of a kind.

    Attributes:
        pattern: The kind, within the lake.
        code: How the next start ends: 0, it goes on; any other, it refuses.
        how: What is done to the file.
    """

    pattern: str
    code: int
    how: Callable[[Path], object]


def torn(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def garbage(file: Path) -> None:
    file.write_text("{", encoding="utf-8")


def lost_with_the_one_before(commit: Path) -> None:
    """A drain ends with a row that reads nothing of the log: without it alone, nothing would be missing."""
    lost_before(commit)
    commit.unlink()


def lost_before(commit: Path) -> None:
    """The one before the newest: a row of the middle is gone."""
    commit.with_name(f"{int(commit.stem) - 1:020}.json").unlink()


def lost_with_all_before(checkpoint: Path) -> None:
    """As where the commits were cleaned up, and the checkpoint is all that tells of them."""
    for commit in checkpoint.parent.glob("[0-9]*.json"):
        if commit.name[:20] <= checkpoint.name[:20]:
            commit.unlink()
    checkpoint.unlink()


def lost_but_for_its_checksum(file: Path) -> None:
    """As Hadoop made one, in checkpoints of before."""
    file.unlink()
    file.with_name(f".{file.name}.crc").write_bytes(b"crc\0\0\0\2\0what it was")


DAMAGES = {
    **{
        f"{what} commit of {table}": Damage(f"{table}/{COMMITS}", REFUSED, how)
        for table in (BRONZE, SCANS, ROUTES, REPORTS, WINDOWS, LEDGER)
        for what, how in {"torn": torn, "empty": empty}.items()
    },
    **{
        f"lost data file of {table}": Damage(f"{table}/*.parquet", REFUSED, Path.unlink)
        for table in (BRONZE, SCANS, ROUTES, REPORTS, WINDOWS, LEDGER)
    },
    **{
        f"lost commit of {table}": Damage(f"{table}/{COMMITS}", REFUSED, Path.unlink)
        for table in (BRONZE, SCANS, ROUTES, REPORTS, WINDOWS)
    },
    "lost rows of the ledger": Damage(f"{LEDGER}/{COMMITS}", REFUSED, lost_with_the_one_before),
    "lost row within the ledger": Damage(f"{LEDGER}/{COMMITS}", REFUSED, lost_before),
    "lost checkpoint of a table, and all it told of": Damage(TABLE_CHECKPOINTS, REFUSED, lost_with_all_before),
    "garbage in _last_checkpoint": Damage("*/*/_delta_log/_last_checkpoint", 0, garbage),
    "lost checkpoint of a table": Damage(TABLE_CHECKPOINTS, 0, Path.unlink),
    "empty offsets file": Damage(f"{CHECKPOINT}/offsets/[0-9]*", REFUSED, empty),
    "lost offsets file": Damage(f"{CHECKPOINT}/offsets/[0-9]*", REFUSED, Path.unlink),
    "empty commit file": Damage(f"{CHECKPOINT}/commits/[0-9]*", REFUSED, empty),
    "lost commit file": Damage(f"{CHECKPOINT}/commits/[0-9]*", 0, Path.unlink),
    "lost commit file, its checksum left": Damage(f"{CHECKPOINT}/commits/[0-9]*", 0, lost_but_for_its_checksum),
    "lost metadata": Damage(f"{CHECKPOINT}/metadata", REFUSED, Path.unlink),
    "empty metadata": Damage(f"{CHECKPOINT}/metadata", REFUSED, empty),
}


CASE_COUNT = -(-len(DAMAGES) // OF_A_CASE)
"""Of which each comes to other damages."""


def newest(root: Path, pattern: str) -> Path:
    """The file that was written last, by its number where it has one."""
    found = [file for file in root.glob(pattern) if not file.name.startswith(".")]
    return max(
        found, key=lambda file: (int(file.name) if file.name.isdigit() else 0, file.stat().st_mtime_ns, file.name)
    )


def damaged(scene: Scene) -> None:
    """One damage after another, each on a lake that has gone on after the last."""
    scene.records_per_batch = 150  # for more than ten commits: then a compaction makes checkpoints of tables' logs
    scene.sent(8)
    scene.done("stream", "--drain")
    scene.done("compact")
    for name in drawn(scene.seed):
        scene.sent(0.5)
        scene.done("stream", "--drain")
        happens(scene, name)
    scene.judge()


def drawn(seed: int) -> list[str]:
    """The damages of a case. Nine cases, from a multiple of nine on, come to all; the next nine in another order."""
    names = sorted(DAMAGES)
    Random(seed // CASE_COUNT).shuffle(names)
    return names[seed % CASE_COUNT :: CASE_COUNT]


def lost_checkpoint(scene: Scene) -> None:
    """The job is killed, and its whole checkpoint is gone: refused, until it is told to go on from the ledger."""
    with scene.auditor.watching():
        with scene.load():
            scene.done("stream", "--drain")
            for _ in range(scene.chance.randint(1, 2)):
                assert scene.killed("stream", moments=BATCH_MOMENTS)
                shutil.rmtree(scene.lake / CHECKPOINT, ignore_errors=True)
                scene.refused("stream", "--drain", code=REFUSED, says="pts stream --new-checkpoint")
                scene.done("stream", "--drain", "--new-checkpoint")
        scene.judge()


def happens(scene: Scene, name: str) -> None:
    """A damage, and the next start. After a refusal what was there is put back, and what the start added stays; or the
    command that the sentence names, if it names one, is the remedy. Where the job goes on, a compaction does, too.
    """
    damage, kept = DAMAGES[name], scene.folder / "kept"
    shutil.copytree(scene.lake, kept)
    file = newest(scene.lake, damage.pattern)
    damage.how(file)
    scene.sent(0.5)
    if not damage.code:
        scene.auditor.note_fault()
    said = scene.done("stream", "--drain", code=damage.code)
    if damage.code:
        told = sentence(said)
        _check_sentence(told, file.relative_to(scene.lake))
        remedy = REMEDY.search(told)
        if remedy and scene.chance.choice((False, True)):
            scene.done(*remedy[1].replace("stream", "stream --drain").split())
            scene.done("stream", "--drain")
            scene.auditor.judge()
        else:
            shutil.copytree(kept, scene.lake, dirs_exist_ok=True)
            scene.auditor.note_fault()
    else:
        scene.done("compact")
        scene.auditor.judge()
    shutil.rmtree(kept)


def _check_sentence(said: str, file: Path) -> None:
    """It names the table or the checkpoint, and a remedy."""
    place = "/".join(file.parts[:2])
    names = (place, place.replace("/", "."), *(("The ledger",) if place == LEDGER else ()))
    assert any(name in said for name in names), f"{place} is not named: {said}"
    assert "pts rebuild" in said or "docs/runbook.md" in said, f"no remedy: {said}"
