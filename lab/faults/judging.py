"""Three verdicts on the same records: the pipeline's in Spark, that of `pts judge`, and the oracle's."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from lab.faults.records import Lane
from pipelines.contracts import judge as offline
from pipelines.contracts.examples import ACCEPTED
from pipelines.contracts.judge import Message
from pipelines.contracts.topics import SHIP_ROUTES, Topic
from pipelines.io.kafka.record_tasks import SCHEMA
from pipelines.prepared_query import PreparedQuery
from pipelines.transforms.judge import judged
from tests.comparison import archived
from tests.oracle.judge import judge
from tests.oracle.records import LogRecord
from tests.oracle.rejection import RejectedError


@dataclass(frozen=True)
class Verdict:
    """What became of a record: `accepted` with its columns, times in microseconds; or a reason without any."""

    name: str
    columns: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Judged:
    """A record, what the pipeline and `pts judge` said of it, and what the oracle expects.

    Details are theirs alone: the oracle has none.
    """

    lane: Lane
    record: LogRecord
    found: Verdict
    offline: Verdict
    expected: Verdict
    detail: str | None = None
    offline_detail: str | None = None

    @property
    def differs(self) -> bool:
        return not (self.found == self.offline == self.expected and self.detail == self.offline_detail)


def judged_by_all(spark: SparkSession, records: Sequence[LogRecord], lane: Lane) -> list[Judged]:
    """Records of one lane, whose offsets ascend, with all verdicts. While Spark judges, Python does so, too."""
    with ThreadPoolExecutor(1) as engine:
        running = engine.submit(spark_verdicts, spark, records, lane)
        own = [offline_verdict(record, lane) for record in records]
        expected = [oracle_verdict(record, lane) for record in records]
        found = running.result()
    return [
        Judged(lane, record, verdict, own_verdict, right, detail, own_detail)
        for record, (verdict, detail), (own_verdict, own_detail), right in zip(
            records, found, own, expected, strict=True
        )
    ]


def spark_verdicts(spark: SparkSession, records: Sequence[LogRecord], lane: Lane) -> list[tuple[Verdict, str | None]]:
    """The pipeline's verdicts and details on records of one lane, by ascending offset; all of them in one job."""
    names = _columns(lane.topic)
    typed = [F.unix_micros(name).alias(name) if name == "occurred_at" else F.col(name) for name in names]
    told_columns = [F.col(name) for name in ("kafka_offset", "reason", "detail")] + typed
    rows = pa.Table.from_pylist([archived(record) for record in records], SCHEMA)
    query = PreparedQuery(lambda given: judged(given, lane.topic, lane.wire).select(*told_columns))
    # As in a batch; without the exchange, one task would judge all.
    answers = query.over(spark.createDataFrame(rows).repartition(spark.sparkContext.defaultParallelism)).toArrow()
    told = answers.sort_by("kafka_offset").to_pydict()
    rows = zip(*(told[name] for name in names), strict=True)
    return [
        (Verdict(reason) if reason else Verdict(ACCEPTED, dict(zip(names, row, strict=True))), comparable(detail))
        for reason, detail, row in zip(told["reason"], told["detail"], rows, strict=True)
    ]


def offline_verdict(record: LogRecord, lane: Lane) -> tuple[Verdict, str | None]:
    """The verdict and the detail of `pts judge` on a record."""
    verdict = offline.judged(Message(record.value, record.key, record.timestamp_ms), lane.topic, lane.wire)
    name = ACCEPTED if verdict.reason is None else verdict.reason.value
    return Verdict(name, verdict.columns), comparable(verdict.detail)


def comparable(detail: str | None) -> str | None:
    """The detail up to where it quotes what is no JSON text: Spark writes 1.50 and true in its own way."""
    return detail and detail.partition(" has the wrong JSON type")[0]


def oracle_verdict(record: LogRecord, lane: Lane) -> Verdict:
    """The oracle's verdict on a record."""
    try:
        row = judge(record, lane.wire_format, lane.needs_offset)
    except RejectedError as rejection:
        return Verdict(rejection.reason)
    return Verdict(ACCEPTED, {name: row[name] for name in _columns(lane.topic)})


def _columns(topic: Topic) -> list[str]:
    names = [wire_field.column for wire_field in topic.fields]
    return [*names, "is_withdrawn"] if topic == SHIP_ROUTES else names
