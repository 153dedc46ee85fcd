"""An object store that does not answer, or not well; and a job that loses its lease there."""

import signal
import time

from lab.faults.scene import Scene
from pipelines.errors import AnotherWriter, LakeUnavailable

WRITTEN = (
    r"_delta_log/\d{20}\.json",
    r"\.parquet",
    "_checkpoints/live/offsets/",
    "_checkpoints/live/commits/",
    "_live",
)
"""What the answer to a write is lost of: patterns of names."""

MOST_REFUSED = 20
MOST_SLOW_SECONDS = 0.2


def frozen(scene: Scene) -> None:
    """It answers nobody for a while: the job waits and goes on, or ends by name."""
    with scene.auditor.watching():
        with scene.load(), scene.pts("stream") as (process, log):
            scene.await_batch(log, process)
            assert scene.store
            scene.store.signal(signal.SIGSTOP)
            scene.auditor.note_fault()
            time.sleep(scene.chance.uniform(1, 30))
            scene.store.signal(signal.SIGCONT)
            time.sleep(scene.chance.uniform(1, 10))
            scene.ends_well(process, log, LakeUnavailable, AnotherWriter)
        scene.judge()


def unwell(scene: Scene) -> None:
    """The answer to a write is lost, some requests are refused, all answers are slow: one after the other."""
    with scene.auditor.watching():
        with scene.load(), scene.pts("stream") as (process, log):
            scene.await_batch(log, process)
            assert scene.store
            for _ in range(scene.chance.randint(4, 8)):
                scene.store.does(**_fault(scene))
                scene.auditor.note_fault(is_outage=False)
                time.sleep(scene.chance.uniform(1, 6))
            scene.store.does()
            scene.ends_well(process, log, LakeUnavailable)
        scene.judge()


def _fault(scene: Scene) -> dict[str, object]:
    match scene.chance.randrange(3):
        case 0:
            return {"lost": scene.chance.choice(WRITTEN)}
        case 1:
            return {"refused": scene.chance.randint(1, MOST_REFUSED)}
        case _:
            return {"slow": scene.chance.uniform(0, MOST_SLOW_SECONDS)}


def job_overtaken(scene: Scene) -> None:
    """A job is frozen until another one has its lease, and thaws: it changes nothing more, and says why."""
    with scene.auditor.watching():
        with scene.load(), scene.pts("stream") as (first, log):
            scene.await_batch(log, first)
            time.sleep(scene.chance.uniform(0, 5))
            first.send_signal(signal.SIGSTOP)
            scene.auditor.note_fault()
            with scene.pts("stream") as (second, second_log):
                scene.await_batch(second_log, second)
                first.send_signal(signal.SIGCONT)
                scene.ends_by_name(first, log, AnotherWriter)
                scene.stop(second, second_log)
        scene.judge()
