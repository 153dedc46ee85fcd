"""The live lake under its streaming checkpoint, which plans its batches."""

import uuid
from collections.abc import Callable, Sequence

from pyspark.sql import SparkSession

from pipelines.engine.runner import LakeRunner
from pipelines.graph import FLOWS, Flow
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.log import KafkaLog, RecordLog
from pipelines.io.spark.checkpoint import Checkpoint
from pipelines.live.resume import check_agreement, check_promotions, is_in_ledger
from pipelines.settings import Settings
from pipelines.state.lake_choices import check_choices
from pipelines.state.ledger import LedgerRow

QUERY = "live"


class LivePlanner:
    """Plans by the streaming checkpoint of the live job.

    Attributes:
        checkpoint: That one.
    """

    def __init__(self, settings: Settings) -> None:
        self.checkpoint = Checkpoint(f"{settings.lake_root}/_checkpoints/{QUERY}")
        self._settings = settings

    @property
    def identity(self) -> str | None:
        return self.checkpoint.query_id()

    def cut_off(self, last: LedgerRow | None) -> int | None:
        planned = self.checkpoint.last_planned()
        return None if planned is None or is_in_ledger(planned, self.identity, last) else planned

    def check(self, last: LedgerRow | None) -> None:
        check_choices(self._settings.lake_root, self._settings, is_new=last is None)
        check_promotions(self._settings.lake_root)
        check_agreement(last, self.checkpoint)


def live_runner(
    spark: SparkSession,
    settings: Settings,
    flows: Sequence[Flow] = FLOWS,
    log: Callable[[SparkSession], RecordLog] | None = None,
) -> LakeRunner:
    """The live lake, with what plans its batches; they read Kafka, unless another log is given."""
    group = f"pts-{uuid.uuid4()}"

    def kafka(session: SparkSession) -> KafkaLog:
        return KafkaLog(session, Connection.of(settings), group)

    return LakeRunner(Lake(spark, settings.lake_root), LivePlanner(settings), log or kafka, settings, flows)
