"""Small files that the live job has added, joined by itself: each batch adds some, and every reader opens them all."""

from contextlib import ExitStack

from pipelines.errors import AnotherWriter
from pipelines.io.delta.files import Crowd, join
from pipelines.io.delta.lake import Lake
from pipelines.state.exclusion import deleting_files
from pipelines.tables import TABLES

ROUND = 64
"""In so many batches each table has its turn, one at a time: what a batch waits for is short."""

CROWD = Crowd(small_bytes=1 << 20, many=ROUND // 2, at_most=4 * ROUND)
"""What is joined takes a fraction of a second; `pts compact` joins what has become of it."""

_ADDED_TO = [table for table in TABLES if table.is_append_only]
TURNS = {position * ROUND // len(_ADDED_TO): table for position, table in enumerate(_ADDED_TO)}
"""The table whose turn comes after a batch, by the remainder of the batch's number."""


def join_small_files(lake: Lake, batch_id: int) -> None:
    """Joins the small files of the table whose turn comes after a batch, if they are many. Left to the next turn if
    another command takes files out of the tables now. No batch may be under way.
    """
    table = TURNS.get(batch_id % ROUND)
    if table is None or not lake.exists(table):
        return
    with ExitStack() as held:
        try:
            held.enter_context(deleting_files(lake.root, patience_seconds=0))
        except AnotherWriter:
            return
        join(lake.path(table), table, CROWD)
