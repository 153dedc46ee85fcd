"""Bugs in flows, for what finds or corrects them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pipelines.graph import FLOWS


@contextmanager
def planted(wrong: Mapping[str, Mapping[str, str]]) -> Iterator[None]:
    """By flow and column: what the flow's query says instead, as SQL."""
    right = {flow.name: flow.by for flow in FLOWS if flow.name in wrong}
    for flow in FLOWS:
        if flow.name in wrong:
            replaced = ", ".join(f"{said} AS {column}" for column, said in wrong[flow.name].items())
            object.__setattr__(flow, "by", f"SELECT * REPLACE ({replaced}) FROM ({flow.by})")
    try:
        yield
    finally:
        for flow in FLOWS:
            object.__setattr__(flow, "by", right.get(flow.name, flow.by))
