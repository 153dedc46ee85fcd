"""Which faults there are, and one case of them."""

import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab.faults import brokers, clocks, disks, hosts, kills, lake_files, logins, producers, stores, writers
from lab.faults.scene import NotPermitted, Scene

PLACE = tempfile.gettempdir()
"""Of the folders of cases; the product moves that of temporary files below the home of a case that has begun."""

KINDS: dict[str, Callable[[Scene], None]] = {
    "kill-job": kills.job,
    "kill-job-before-commit": kills.job_before_commit,
    "kill-job-at-any-time": kills.job_at_any_time,
    "kill-job-in-transactions": producers.job_killed,
    "kill-task": kills.task,
    "kill-promotion": kills.promotion,
    "kill-job-in-promotion": kills.promotion_by_the_job,
    "kill-backfill": kills.backfill,
    "kill-compaction": kills.compaction,
    "kill-broker": brokers.killed,
    "freeze-broker": brokers.frozen,
    "broker-away-in-transactions": producers.broker_away,
    "older-log": brokers.older_tail,
    "topic-recreated": brokers.recreated,
    "partition-added": brokers.grown,
    "retention": brokers.eaten,
    "disk-full": disks.full_for_the_job,
    "disk-full-data": disks.full_for_data,
    "disk-full-log": disks.full_for_a_log,
    "disk-full-offsets": disks.full_for_offsets,
    "disk-full-compaction": disks.full_for_a_compaction,
    "disk-full-broker": disks.full_for_the_broker,
    "lake-read-only": disks.read_only,
    "permission-lost": disks.permission_lost,
    "damaged-files": lake_files.damaged,
    "lost-checkpoint": lake_files.lost_checkpoint,
    "wrong-clocks": clocks.wrong,
    "wrong-record-times": producers.record_times,
    "foreign-environment": hosts.foreign,
    "second-job": writers.second_job,
    "unseen-second-job": writers.unseen_second_job,
    "two-clocks": writers.two_clocks,
    "outlived-task": writers.outlived_task,
    "together": writers.together,
    "secure-kill-job": kills.job,
    "secure-kill-broker": brokers.killed,
    "certificate-renewed": logins.certificate_renewed,
    "password-changed": logins.password_changed,
    "store-kill-job": kills.job,
    "store-kill-job-before-commit": kills.job_before_commit,
    "store-kill-task": kills.task,
    "store-kill-promotion": kills.promotion,
    "store-kill-job-in-promotion": kills.promotion_by_the_job,
    "store-kill-compaction": kills.compaction,
    "store-frozen": stores.frozen,
    "store-unwell": stores.unwell,
    "store-job-overtaken": stores.job_overtaken,
}

SECURE = frozenset({"secure-kill-job", "secure-kill-broker", "certificate-renewed", "password-changed"})
"""Those of a broker with TLS, logins and rights."""

IN_STORE = "store-"
"""Begins the names of those of a lake in an object store."""


@dataclass(frozen=True)
class Case:
    """A fault, and the seed of all that is drawn in it. Written `kind:seed`."""

    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.kind}:{self.seed}"

    @classmethod
    def parse(cls, text: str) -> "Case":
        """Raises `ValueError` for what is none."""
        kind, _, seed = text.partition(":")
        if kind not in KINDS:
            raise ValueError(f"there is no fault {kind!r}; there are {', '.join(KINDS)}")
        return cls(kind, int(seed or 0))


KEPT = (
    *(Case("damaged-files", seed) for seed in (2, 4, 7)),
    *(
        Case("lake-read-only", 0),
        Case("outlived-task", 2),
        Case("kill-promotion", 1),
        Case("kill-broker", 2),
        Case("together", 0),
        Case("password-changed", 0),
    ),
)
"""Cases in which something was found that is mended since (docs/reliability.md, 'What it has found')."""


@dataclass(frozen=True)
class Verdict:
    """What became of a case.

    Attributes:
        case: It.
        outcome: `held`, `broken`, or `not run` where the machine does not permit it.
        seconds: How long it took.
        fault_count: Faults that happened.
        recovered_after: Seconds from each outage to the next batch, where one followed.
        gaps: Of each kill of the live job, where in a batch it hit, and whether Spark wrote that.
        snapshot_count: Of how many batches the readers saw a whole picture meanwhile.
        said: What was broken.
    """

    case: str
    outcome: str
    seconds: float
    fault_count: int = 0
    recovered_after: list[float] = field(default_factory=list)
    gaps: list[str] = field(default_factory=list)
    snapshot_count: int = 0
    said: str = ""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def cases(count: int, first_seed: int, kinds: tuple[str, ...] = ()) -> Iterator[Case]:
    """So many: each fault in its turn, with the next seed every round."""
    names = kinds or tuple(KINDS)
    for number in range(count):
        yield Case(names[number % len(names)], first_seed + number // len(names))


def run(case: Case, folder: Path) -> Scene:
    """Runs a case in a folder. Raises `AssertionError` when a promise was broken, and `NotPermitted`."""
    made = Scene(
        folder,
        case.seed,
        "secure" if case.kind in SECURE else "plain",
        in_store=case.kind.startswith(IN_STORE),
    )
    with repeatable(case), made.open() as scene:
        KINDS[case.kind](scene)
    return scene


@contextmanager
def repeatable(case: Case) -> Iterator[None]:
    """Notes on what is raised how the case is repeated."""
    try:
        yield
    except Exception as error:
        error.add_note(f"Again: make faults CASE={case}")
        raise


def judged(case: Case) -> Verdict:
    """The same, as a verdict. The folder stays when a promise was broken."""
    began = time.monotonic()
    folder = Path(tempfile.mkdtemp(prefix="pts-fault-", dir=PLACE))

    def seconds() -> float:
        return round(time.monotonic() - began, 1)

    try:
        scene = run(case, folder)
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        raise
    except NotPermitted as error:
        shutil.rmtree(folder)
        return Verdict(str(case), "not run", seconds(), said=str(error))
    except Exception as error:
        said = "\n".join((f"{type(error).__name__}: {error}", f"See {folder}", *error.__notes__))
        return Verdict(str(case), "broken", seconds(), said=said)
    shutil.rmtree(folder)
    found = scene.auditor
    recovered = [round(each, 1) for each in found.recovered_after]
    return Verdict(str(case), "held", seconds(), found.fault_count, recovered, found.gaps, len(found.seen))
