"""What a defect is, and how to plant one in a healthy lake."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.healthy_lake import HealthyLake, Row

Plant = Callable[[HealthyLake], None]


@dataclass(frozen=True)
class Defect:
    """Something wrong with a lake, and what is to be said of it.

    Attributes:
        what: What is wrong, for the name of the test.
        check: The check that must find it, before any other.
        says: Where, and the two values that disagree.
        plant: Spoils the lake.
        rebuild: The table to be rebuilt; none when that does not help.
    """

    what: str
    check: str
    says: str
    plant: Plant
    rebuild: str | None = None

    @property
    def remedy(self) -> str:
        if self.rebuild:
            return f"`pts rebuild {self.rebuild}` rebuilds it from silver."
        return "See docs/runbook.md, 'pts verify finds a violation'."


def drop(table: str, **where: object) -> Plant:
    return lambda lake: lake.tables[table].remove(_row(lake.tables[table], where))


def again(table: str, values: Row | None = None, /, **where: object) -> Plant:
    """A row once more, with other values if given."""
    return lambda lake: lake.tables[table].append(_row(lake.tables[table], where) | (values or {}))


def change(table: str, values: Row, **where: object) -> Plant:
    return lambda lake: _row(lake.tables[table], where).update(values)


def ledger(batch_id: int, part: str, values: Row, **where: object) -> Plant:
    """Other values in a batch's entry of `offsets`, `counts` or `tables`."""
    return lambda lake: _row(lake.ledger[batch_id][part], where).update(values)


def ledger_lacks(batch_id: int, part: str, **where: object) -> Plant:
    return lambda lake: lake.ledger[batch_id][part].remove(_row(lake.ledger[batch_id][part], where))


def all_of(*plants: Plant) -> Plant:
    def plant(lake: HealthyLake) -> None:
        for each in plants:
            each(lake)

    return plant


def _row(rows: list[Row], where: Row) -> Row:
    (row,) = (row for row in rows if where.items() <= {name: row[name] for name in where}.items())
    return row


EVENTS, ROUTES = {"kafka_topic": "ship-events"}, {"kafka_topic": "ship-routes"}
FIRST, LAST = {"kafka_partition": 0, "kafka_offset": 0}, {"kafka_partition": 1, "kafka_offset": 17}
"""The first record of a topic, and the last one of ship-events that all tables have."""
