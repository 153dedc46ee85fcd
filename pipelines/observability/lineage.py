"""OpenLineage events (https://openlineage.io/spec): who read what, and which versions of which tables came of it.

They are a record beside the work: an event that cannot be written is told on standard error, and the work goes on.
"""

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import attr
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState, set_producer
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    RunFacet,
    dataset_version_dataset,
    documentation_dataset,
    error_message_run,
    job_type_job,
    processing_engine_run,
    schema_dataset,
    storage_dataset,
)
from openlineage.client.serde import Serde

from pipelines.code_version import fingerprint
from pipelines.commands import Command, ReplayBuild, Seal, Stream
from pipelines.errors import Interrupted, PtsError, in_words, log_text, warn
from pipelines.io.delta import delta_rs
from pipelines.io.delta.delta_table import opened
from pipelines.observability.touched import PlacedTable, touched
from pipelines.settings import Settings

PRODUCER = "urn:superfast-pts"

set_producer(PRODUCER)

Ranges = Mapping[str, Sequence[tuple[int, int, int]]]
"""By topic: partition, first offset, and offset of the next record after the last."""


@attr.define
class PartitionOffsets:
    """What was read of a partition: offsets `[start, end)`."""

    partition: int
    start: int
    end: int


@attr.define
class OffsetsDatasetFacet(DatasetFacet):
    """The offsets of a topic that were read."""

    partitions: list[PartitionOffsets]

    @staticmethod
    def _get_schema() -> str:
        return f"{PRODUCER}:facet:offsets:1"


@attr.define
class BatchesRunFacet(RunFacet):
    """The first and the last row of the ledger that an event of the live job is about."""

    first: int
    last: int

    @staticmethod
    def _get_schema() -> str:
        return f"{PRODUCER}:facet:batches:1"


class LineageRun:
    """Writes the events of one run of a command."""

    def __init__(self, command: Command, settings: Settings) -> None:
        self._file = settings.lineage_file
        self._run_id = str(uuid.uuid4())
        self._kafka = f"kafka://{settings.bootstrap_servers.partition(',')[0].strip()}"
        self._touched = touched(command, settings)
        self._job_namespace = f"file://{settings.lake_root}"
        self._name = ".".join(("pts", *command.words))
        self._processing = "STREAMING" if isinstance(command, Stream | Seal) and not command.drain else "BATCH"

    def tell(
        self,
        state: RunState,
        *,
        ranges: Ranges | None = None,
        versions: Mapping[str, int] | None = None,
        error: BaseException | None = None,
        facets: Mapping[str, RunFacet] | None = None,
    ) -> None:
        """Writes an event.

        Args:
            state: What has happened.
            ranges: What was read of the log since the run's last event.
            versions: Of the outputs, by table name; asked of the tables where none are given.
            error: What ended the run.
            facets: More about the run.
        """
        with _going_on():
            of_run: dict[str, RunFacet] = {
                "processing_engine": processing_engine_run.ProcessingEngineRunFacet(fingerprint(), "superfast-pts"),
                **(facets or {}),
            }
            if error is not None:
                said = log_text(" ".join(str(error).split())) if isinstance(error, PtsError) else type(error).__name__
                of_run["errorMessage"] = error_message_run.ErrorMessageRunFacet(said, "python")
            is_start = state is RunState.START
            outputs = ((each, (versions or {}).get(each.table.name)) for each in self._touched.outputs)
            event = RunEvent(
                eventTime=datetime.now(UTC).isoformat(),
                producer=PRODUCER,
                eventType=state,
                run=Run(self._run_id, of_run),
                job=Job(self._job_namespace, self._name, self._of_the_job()),
                inputs=[
                    *self._topics(ranges or {}),
                    *(
                        InputDataset("file", each.path, facets=_facets(each, version, is_whole=is_start))
                        for each in self._touched.inputs
                        if (version := _version(each)) is not None
                    ),
                ],
                outputs=[
                    *(OutputDataset(self._kafka, name) for name in self._touched.writes),
                    *(
                        OutputDataset("file", each.path, facets=_facets(each, version, is_whole=is_start))
                        for each, told in outputs
                        if (version := _version(each) if told is None else told) is not None or is_start
                    ),
                ],
            )
            _append(self._file, f"{Serde.to_json(event)}\n")

    def _of_the_job(self) -> dict[str, JobFacet]:
        return {"jobType": job_type_job.JobTypeJobFacet(self._processing, "SUPERFAST_PTS", "COMMAND")}

    def _topics(self, ranges: Ranges) -> Iterator[InputDataset]:
        for name in self._touched.reads:
            facets: dict[str, DatasetFacet] = {}
            if read := ranges.get(name):
                facets["pts_offsets"] = OffsetsDatasetFacet([PartitionOffsets(*each) for each in read])
            yield InputDataset(self._kafka, name, facets=facets)


@contextmanager
def told_of(command: Command, settings: Settings) -> Iterator[None]:
    """An event before the block, and one after it, which says how it ended."""
    run = LineageRun(command, settings)
    run.tell(RunState.START)
    try:
        yield
    except BaseException as error:
        run.tell(ended(error), error=error)
        raise
    run.tell(RunState.COMPLETE, ranges=_replayed(command, settings) if isinstance(command, ReplayBuild) else None)


def ended(error: BaseException | None) -> RunState:
    """How a run ended: COMPLETE; ABORT where somebody stopped it before its end; FAIL."""
    if isinstance(error, Interrupted | KeyboardInterrupt):
        return RunState.ABORT
    return RunState.COMPLETE if error is None else RunState.FAIL


def _replayed(command: ReplayBuild, settings: Settings) -> Ranges:
    """What the whole replay covers, whichever call has read it."""
    from pipelines.state.replay_records import Replays  # with Spark, which other commands do without

    replay = Replays(settings.lake_root).load(command.replay_id)
    return merged(
        (topic, partition, offset, end[topic][partition])
        for end in (step.end for step in replay.steps)
        for topic, partitions in replay.begin.items()
        for partition, offset in partitions.items()
    )


def _version(placed: PlacedTable) -> int | None:
    """The table's newest version; None when there is no table."""
    return opened(placed.path).version() if delta_rs.exists(placed.path) else None


def _facets(placed: PlacedTable, version: int | None, *, is_whole: bool) -> dict[str, DatasetFacet]:
    """What is said of a table: its version; and once for each run, what it is."""
    table, facets = placed.table, dict[str, DatasetFacet]()
    if version is not None:
        facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(str(version))
    if is_whole:
        fields = [schema_dataset.SchemaDatasetFacetFields(each.name, each.type, each.doc) for each in table.columns]
        facets["schema"] = schema_dataset.SchemaDatasetFacet(fields)
        facets["documentation"] = documentation_dataset.DocumentationDatasetFacet(table.doc)
        facets["storage"] = storage_dataset.StorageDatasetFacet("delta", "parquet")
    return facets


def _append(file: Path, line: str) -> None:
    """In one write, so that processes which write at once do not mix their lines."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


@contextmanager
def _going_on() -> Iterator[None]:
    """Whatever fails in the block, the command goes on."""
    try:
        yield
    except Exception as error:
        warn(f"lineage is not told: {in_words(error)}")


def merged(ranges: Iterable[tuple[str, int, int, int]]) -> Ranges:
    """Consecutive ranges (topic, partition, start, end) of several batches as one of each partition."""
    found: dict[str, dict[int, tuple[int, int]]] = {}
    for topic, partition, start, end in ranges:
        first, last = found.setdefault(topic, {}).get(partition, (start, end))
        found[topic][partition] = min(first, start), max(last, end)
    return {
        topic: [(partition, *bounds) for partition, bounds in sorted(parts.items())] for topic, parts in found.items()
    }
