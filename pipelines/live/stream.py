"""`pts stream`: the live job as a command."""

from collections.abc import Sequence
from contextlib import ExitStack

from pipelines.commands import Stream
from pipelines.errors import Interrupted
from pipelines.graph import FLOWS, Flow
from pipelines.io.spark.spark_job import spark_job
from pipelines.live.live_job import Delegate, LiveJob
from pipelines.live.planner import QUERY, live_runner
from pipelines.live.topics import check_topics
from pipelines.processes.signals import signals_ask_to_stop
from pipelines.settings import Settings
from pipelines.state.handover import Handover, stand_by
from pipelines.state.ledger import Observer
from pipelines.state.writer_lease import WriterLease


def run(
    command: Stream,
    settings: Settings,
    delegate: Delegate | None = None,
    flows: Sequence[Flow] = FLOWS,
    observers: Sequence[Observer] = (),
) -> None:
    """Runs until SIGTERM or Ctrl-C, or with `command.drain` until all that is in the log now is in the tables.

    With `command.standby`, Java and executors are started and warm first, and then the lease is waited for. With
    `delegate`, it does the last part of a promotion in place of the command; without, the command gets the lease.
    Observers are told of each batch.

    Raises:
        BrokerUnavailable, TopicMismatch, LogTruncated, LakeMismatch, LakeUnavailable, AnotherWriter: see `errors.py`.
            Whatever the moment, the next start goes on from the ledger, and repeats what was cut off.
        Interrupted: A drain was asked to stop.
        KeyboardInterrupt: After the batch under way, when Ctrl-C asked to stop.
    """
    lease = WriterLease(settings.lake_root)
    with signals_ask_to_stop() as stop, ExitStack() as held:
        held.callback(lease.release)
        if not command.standby:
            lease.acquire()  # who is refused need not wait for Java
        spark = held.enter_context(spark_job(settings, QUERY))
        job = LiveJob(live_runner(spark, settings, flows), settings, Handover(lease), delegate, stop, observers)
        if not command.standby or stand_by(lease, stop, job.rehearse):
            with lease.explaining():
                check_topics(settings)
                job.run(command)
    if stop.is_ctrl_c:
        raise KeyboardInterrupt
    if stop.is_set() and command.drain:
        raise Interrupted("The drain was stopped at a batch boundary, before its end. Start it again to go on.")
