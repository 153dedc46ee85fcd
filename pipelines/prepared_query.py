"""Queries that Spark plans and compiles once, and then runs over one frame after another."""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.serializers import NoOpSerializer
from pyspark.sql import DataFrame
from pyspark.sql.types import BinaryType, StructField, StructType
from pyspark.sql.udf import UserDefinedFunction
from pyspark.util import PythonEvalType, _load_from_socket

Task = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]

BYTES = StructType([StructField("bytes", BinaryType())])


class PreparedQuery:
    """A query over frames of the same columns: to plan it takes longer than to run it over a small one.

    Args:
        query: Makes the frame of the result from one of rows. It makes columns, nothing more: else Spark's
            `UnsupportedOperationException` is raised at the first use.

    Attributes:
        query: That.
    """

    def __init__(self, query: Callable[[DataFrame], DataFrame]) -> None:
        self.query = query
        self._jvm: Any = None
        self._prepared: Any = None

    def over(self, rows: DataFrame) -> DataFrame:
        """The result. The query is planned again where the rows have other columns than before, or another session."""
        return DataFrame(self._for(rows).over(rows._jdf), rows.sparkSession)

    def given_to(self, task: Task, rows: DataFrame) -> list[bytes]:
        """What tasks make of the result, each in one column of bytes."""
        function = UserDefinedFunction(task, BYTES, evalType=PythonEvalType.SQL_MAP_ARROW_ITER_UDF)
        made = self._for(rows).givenTo(function._judf, rows._jdf)
        with _load_from_socket(made, NoOpSerializer()) as parts:
            return list(parts)

    def _for(self, rows: DataFrame) -> Any:
        jvm = rows.sparkSession._jvm
        if jvm is not self._jvm or not self._prepared.fits(rows._jdf):
            prepare = getattr(jvm, "org.apache.spark.sql.superfastpts.PreparedQuery")
            self._jvm, self._prepared = jvm, prepare(rows._jdf, self.query(rows)._jdf)
        return self._prepared
