"""Bugs in flows, for what finds or corrects them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pipelines.graph import Flow


def planted(flows: Iterable[Flow], wrong: Mapping[str, Mapping[str, str]]) -> tuple[Flow, ...]:
    """The flows, of which some are wrong: by flow and column, what the flow's query says instead, as SQL."""
    return tuple(_wrong(flow, wrong[flow.name]) if flow.name in wrong else flow for flow in flows)


def _wrong(flow: Flow, columns: Mapping[str, str]) -> Flow:
    replaced = ", ".join(f"{said} AS {column}" for column, said in columns.items())
    return replace(flow, by=f"SELECT * REPLACE ({replaced}) FROM ({flow.by})")
