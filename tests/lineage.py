"""Lineage events, each held against the classes of OpenLineage's own client."""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from openlineage.client import generated
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import schema_dataset
from openlineage.client.generated.base import BaseFacet
from openlineage.client.serde import Serde

from pipelines.observability.lineage import BatchesRunFacet, OffsetsDatasetFacet, PartitionOffsets
from pipelines.tables import NOT_IN_THE_LEDGER, TABLES

Event = dict[str, Any]


def events(file: Path) -> list[Event]:
    """The events of a file, oldest first. Fails for one that the client's classes would not have made."""
    return [validated(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]


def validated(event: Event) -> Event:
    """The event, if the client's classes take each of its members, and give it back as it is."""
    run, job = event["run"], event["job"]
    made = RunEvent(
        eventTime=event["eventTime"],
        producer=event["producer"],
        eventType=RunState(event["eventType"]),
        run=Run(run["runId"], _facets(run)),
        job=Job(job["namespace"], job["name"], _facets(job)),
        inputs=[InputDataset(each["namespace"], each["name"], facets=_facets(each)) for each in event["inputs"]],
        outputs=[OutputDataset(each["namespace"], each["name"], facets=_facets(each)) for each in event["outputs"]],
    )
    assert Serde.to_dict(made) == event
    return event


def _facets(of: Event) -> dict[str, Any]:
    return {name: _facet(facet) for name, facet in of["facets"].items()}


def _facet(facet: Event) -> BaseFacet:
    members = {name: value for name, value in facet.items() if not name.startswith("_")}
    kind = _kinds()[facet["_schemaURL"]]
    if kind is schema_dataset.SchemaDatasetFacet:
        members["fields"] = [schema_dataset.SchemaDatasetFacetFields(**field) for field in members["fields"]]
    if kind is OffsetsDatasetFacet:
        members["partitions"] = [PartitionOffsets(**each) for each in members["partitions"]]
    return kind(**members)


@cache
def _kinds() -> dict[str, type[BaseFacet]]:
    """The classes of facets, the client's and this project's, by the address of their schema."""
    found: list[type[BaseFacet]] = [BatchesRunFacet, OffsetsDatasetFacet, *_of_the_client()]
    return {kind._get_schema(): kind for kind in found}


def _of_the_client() -> Iterator[type[BaseFacet]]:
    for module in pkgutil.iter_modules(generated.__path__):
        for kind in vars(importlib.import_module(f"{generated.__name__}.{module.name}")).values():
            if isinstance(kind, type) and issubclass(kind, BaseFacet):
                yield kind


def versions(root: str, event: Event, of: str = "outputs") -> dict[str, int]:
    """The versions of the lake's tables that an event tells of, by table name."""
    names = {f"{root}/{table.folder}": table.name for table in (*TABLES, *NOT_IN_THE_LEDGER)}
    return {
        names[each["name"]]: int(each["facets"]["version"]["datasetVersion"])
        for each in event[of]
        if each["name"] in names and "version" in each["facets"]
    }


def read_of(event: Event) -> list[tuple[str, int, int, int]]:
    """Topic, partition, start and end of what an event says was read of the log."""
    return [
        (each["name"], part["partition"], part["start"], part["end"])
        for each in event["inputs"]
        if each["namespace"].startswith("kafka://")
        for part in each["facets"].get("pts_offsets", {"partitions": []})["partitions"]
    ]
