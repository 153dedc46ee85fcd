"""Producers of other ways than the load's: in transactions, and with times that they got wrong."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from lab.faults import brokers, kills
from lab.faults.load import aborted_beside, acknowledged
from lab.faults.records import ODD_TIMES_MS
from lab.faults.scene import BURST_RATE, Scene
from tests.brokers import take_any_time
from tests.integration.log_reader import read_log

RATE_OF_TRANSACTIONS = 60


@contextmanager
def _transactions(scene: Scene) -> Iterator[None]:
    """Records in transactions for as long as the block lasts, beside the load's; the last ones of every partition are
    taken back.
    """
    with scene.load(RATE_OF_TRANSACTIONS, module="lab.faults.transactions"), scene.load():
        yield
    assert acknowledged(aborted_beside(scene.journal)), "nothing was taken back"


def job_killed(scene: Scene) -> None:
    """The live job, again and again, beside transactions that are committed, taken back, and left open meanwhile."""
    with scene.auditor.watching():
        with _transactions(scene):
            kills.kill_at_moments(scene)
        scene.judge()


def broker_away(scene: Scene) -> None:
    """The broker is killed or frozen, some times, under such transactions and the job that reads them."""
    with scene.auditor.watching():
        with _transactions(scene), scene.pts("stream") as (process, log):
            scene.await_batch(log, process)
            for _ in range(scene.chance.randint(1, 3)):
                time.sleep(scene.chance.uniform(0, 3))
                scene.chance.choice((brokers.kill, brokers.freeze))(scene)
            time.sleep(scene.chance.uniform(0, 5))
            scene.ends_well(process, log, *brokers.BROKER_ERRORS)
        scene.judge()


def record_times(scene: Scene) -> None:
    """The live job at times of the clock, under loads some of whose records have times that no clock shows."""
    take_any_time(scene.servers)
    with scene.auditor.watching():
        for _ in range(scene.chance.randint(2, 4)):
            with scene.load(BURST_RATE, "--odd-times"):
                kills.kill_at_any_time(scene)
        scene.judge()
    assert {record.timestamp_ms for record in read_log(scene.servers)}.intersection(ODD_TIMES_MS)
