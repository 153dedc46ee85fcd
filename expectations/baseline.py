"""What is expected of every table, from its record."""

from expectations.truth import Truth
from pipelines.tables import Table


def one_row_per_key(table: Table) -> Truth:
    """The grain, which no constraint of Delta can hold: a null in a key is a value like any other."""
    key = ", ".join(table.key)
    return Truth(
        name="one_row_per_key",
        meaning=f"{table.grain.capitalize()}: number of keys ({key}) that are there more than once.",
        sql=f"SELECT count(*) FROM (SELECT {key} FROM {table.name} GROUP BY {key} HAVING count(*) > 1)",
        catches="a write that was made twice, or another program that wrote to the table.",
        remedy="`pts verify` names the row; see the runbook, 'A table was changed', for who wrote it and the remedy.",
    )
