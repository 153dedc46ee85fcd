"""Which rows of a table do two lakes not have in common?"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from decimal import Decimal
from functools import reduce
from typing import Any

import duckdb
from pyspark.sql import Column, DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as F

from pipelines.io.delta.lake import Lake
from pipelines.io.delta.parquet import parquet_rows
from pipelines.io.duckdb.reader import LakeReader
from pipelines.replay.compared import Sample, TableCompared
from pipelines.session import planned_for
from pipelines.tables import Table
from pipelines.terminal.rendering import rows_of

SAMPLES = 20
ROWS_PER_PARTITION = 500_000
SIDES = "live", "shadow"
KINDS = "missing", "extra", "changed"


class Pair:
    """Two lakes, each at certain versions of its tables."""

    def __init__(
        self,
        spark: SparkSession,
        live_root: str,
        shadow_root: str,
        live: Mapping[str, int],
        shadow: Mapping[str, int],
    ) -> None:
        self._spark = spark
        self._roots = dict(zip(SIDES, (live_root, shadow_root), strict=True))
        self._versions = dict(zip(SIDES, (live, shadow), strict=True))

    def compared(self, table: Table, declared: frozenset[str], folder: str) -> TableCompared:
        """First the rows that the other side does not have as they are, as often; then those among them with one key.

        If there are any, they are written to a folder as Parquet: `rows`, with `kind`, `live`, `shadow`.
        """
        columns = [column.name for column in table.columns if column.follows_log]
        with self._planned_for(table):
            totals = self._write_unequal(table, columns, f"{folder}/unequal")
            are_equal = not totals.pop("unequal_rows")
            rows = None if are_equal else self._write_paired(table, columns, f"{folder}/unequal", f"{folder}/rows")
            counts, changed_in = _counted(rows, table, columns, declared)
        return TableCompared(
            table=table.name,
            live_version=self._versions["live"][table.name],
            shadow_version=self._versions["shadow"][table.name],
            columns={name: count for name, count in changed_in.items() if count},
            samples=() if are_equal else tuple(_samples(f"{folder}/rows", table)),
            **totals,
            **counts,
        )

    def _write_unequal(self, table: Table, columns: Sequence[str], path: str) -> dict[str, Any]:
        """Writes each distinct row that one side has more often, with `surplus`: how much more often live has it.

        Returns:
            Rows and checksum of each side, and how many such rows there are.
        """
        rows = reduce(DataFrame.unionByName, (self._rows(side, table, columns) for side in SIDES))
        seen = Observation()
        (
            rows.groupBy(*columns)
            .agg(*(F.sum(side).alias(side) for side in SIDES))
            .observe(
                seen,
                *(F.sum(side).alias(f"{side}_rows") for side in SIDES),
                *(_checksum(columns, side).alias(f"{side}_checksum") for side in SIDES),
                F.count_if(F.col("live") != F.col("shadow")).alias("unequal_rows"),
            )
            .where("live != shadow")
            .select(F.struct(*columns).alias("row"), (F.col("live") - F.col("shadow")).alias("surplus"))
            .write.mode("overwrite")
            .parquet(path)
        )
        found = seen.get
        return {
            **{f"{side}_rows": found[f"{side}_rows"] or 0 for side in SIDES},
            **{f"{side}_checksum": _hexadecimal(found[f"{side}_checksum"]) for side in SIDES},
            "unequal_rows": found["unequal_rows"],
        }

    def _write_paired(self, table: Table, columns: Sequence[str], unequal: str, path: str) -> DataFrame:
        """Writes, and reads back, the unequal rows by key: the first of live with the first of shadow, and so on."""
        key = [F.col(f"row.{name}") for name in table.key]
        side = F.when(F.col("surplus") > 0, SIDES[0]).otherwise(SIDES[1])
        each = F.explode(F.sequence(F.lit(1), F.abs("surplus").cast("int")))
        rows = self._spark.read.parquet(unequal).select("row", side.alias("side"), each.alias("time"))
        order = Window.partitionBy("side", *key).orderBy(F.xxhash64("row"), "time")
        numbered = rows.withColumn("number", F.row_number().over(order))
        paired = numbered.groupBy(*key, "number").agg(
            *(F.any_value(F.when(F.col("side") == side, F.col("row")), ignoreNulls=True).alias(side) for side in SIDES)
        )
        kind = F.when(F.isnull("live"), "missing").when(F.isnull("shadow"), "extra").otherwise("changed")
        paired.select(kind.alias("kind"), *SIDES).write.mode("overwrite").parquet(path)
        return self._spark.read.parquet(path)

    def _rows(self, side: str, table: Table, columns: Sequence[str]) -> DataFrame:
        """A side's rows, each counted once for it and not at all for the other."""
        rows = Lake(self._spark, self._roots[side]).read(table, self._versions[side][table.name])
        return rows.select(*columns, *(F.lit(int(each == side)).alias(each) for each in SIDES))

    @contextmanager
    def _planned_for(self, table: Table) -> Iterator[None]:
        """Few rows go through one task; a shuffle of many has parts that fit the memory of one."""
        rows = sum(
            LakeReader(self._roots[side], {table.name: self._versions[side][table.name]}).open(table.name).count()
            for side in SIDES
        )
        with planned_for(self._spark, rows):
            name = "spark.sql.shuffle.partitions"
            before = str(self._spark.conf.get(name))
            self._spark.conf.set(name, str(max(int(before), rows // ROWS_PER_PARTITION)))
            try:
                yield
            finally:
                self._spark.conf.set(name, before)


def _counted(
    rows: DataFrame | None, table: Table, columns: Sequence[str], declared: frozenset[str]
) -> tuple[dict[str, Any], dict[str, int]]:
    """How many of the rows are what, and how many of the changed ones differ in which column."""
    if rows is None:
        return dict.fromkeys((*KINDS, "undeclared"), 0), {}
    differs = {name: _differs(name) for name in columns if name not in table.key}
    is_changed = F.col("kind") == "changed"
    undeclared = reduce(Column.__or__, (differs[name] for name in differs if name not in declared), ~is_changed)
    counted = rows.agg(
        *(F.count_if(F.col("kind") == kind).alias(kind) for kind in KINDS),
        F.count_if(undeclared & F.lit(not declared.issuperset(table.column_names))).alias("undeclared"),
        *(F.count_if(is_changed & each).alias(f"of {name}") for name, each in differs.items()),
    )
    counts: dict[str, Any] = counted.collect()[0].asDict()
    return counts, {name: counts.pop(f"of {name}") for name in differs}


def _differs(name: str) -> Column:
    return ~F.col(f"live.{name}").eqNullSafe(F.col(f"shadow.{name}"))


def _checksum(columns: Sequence[str], times: str) -> Column:
    return F.sum(F.xxhash64(*columns).cast("decimal(38, 0)") * F.col(times))


def _hexadecimal(total: Decimal | None) -> str:
    return f"{int(total or 0) % 2**64:016x}"


def _samples(path: str, table: Table) -> Iterator[Sample]:
    """The first rows of each kind, by key."""
    key = ", ".join(f"coalesce(live.{name}, shadow.{name})" for name in table.key)
    query = f"""
        FROM {parquet_rows("?")} QUALIFY row_number() OVER (PARTITION BY kind ORDER BY {key}) <= {SAMPLES}
        ORDER BY kind, {key}
    """
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for row in rows_of(connection.sql(query, params=[f"{path}/*.parquet"]).to_arrow_table()):
            live, shadow = row["live"] or {}, row["shadow"] or {}
            shown = [
                name
                for name in (live or shadow)
                if name not in table.key and (not live or not shadow or live[name] != shadow[name])
            ]
            yield Sample(
                kind=row["kind"],
                key={name: _shown((live or shadow)[name]) for name in table.key},
                live={name: _shown(live[name]) for name in shown if live},
                shadow={name: _shown(shadow[name]) for name in shown if shadow},
            )


def _shown(value: Any) -> Any:
    """As JSON and people read it; bytes as Python writes them."""
    return value if value is None or isinstance(value, int | float | bool) else str(value)
