"""Which SQL only reads the lake's tables, as Spark's parser sees it: before a name in it is looked up."""

import re
from collections.abc import Collection, Iterator

from py4j.java_gateway import JavaObject, is_instance_of
from pyspark.sql import SparkSession

from pipelines.errors import InvalidInput

CATALYST = "org.apache.spark.sql.catalyst"

QUERIES = re.compile(
    r"""Project|Filter|Aggregate|UnresolvedHaving|Sort|GlobalLimit|LocalLimit|LimitAll|Offset|Distinct|Union|Except
    |Intersect|Join|LateralJoin|SubqueryAlias|UnresolvedWith|UnresolvedRelation|UnresolvedInlineTable|LocalRelation
    |OneRowRelation|Generate|Unpivot|Pivot|Sample|WithWindowDefinition|UnresolvedTableValuedFunction
    |UnresolvedTVFAliases|RelationTimeTravel|UnresolvedSubqueryColumnAliases|UnresolvedHint|PipeOperator""",
    re.VERBOSE,
)
"""Nodes of a parsed query, and nothing that writes, runs a program, or names a file."""

DESCRIPTIONS = re.compile(
    r"""ExplainCommand|DescribeQueryCommand|DescribeRelation|DescribeColumn|DescribeFunction|DescribeNamespace
    |DescribeDeltaHistory|DescribeDeltaDetailCommand|ShowTables|ShowTablesExtended|ShowViews|ShowColumns|ShowNamespaces
    |ShowNamespacesCommand|ShowFunctions|ShowTableProperties|ShowCreateTable|UnresolvedTable|UnresolvedTableOrView
    |UnresolvedNamespace|CurrentNamespace|UnresolvedFunctionName""",
    re.VERBOSE,
)
"""Nodes of EXPLAIN, DESCRIBE and SHOW."""

TABLE_NAMES = frozenset({"UnresolvedRelation", "UnresolvedTable", "UnresolvedTableOrView"})

REFUSED_FUNCTIONS = re.compile(
    r"(try_)?reflect|java_method|(from|to|schema_of)_(avro|protobuf)|(from|schema_of)_xml|xpath(_\w+)?"
    r"|python_worker_logs"
)
"""Of Spark's own functions those that call any method of Java, or open a file or address that an argument names: those
of xpath load the document type that a text says it is of.
"""


def check_is_query(spark: SparkSession, sql: str, tables: Collection[str]) -> None:
    """Raises `InvalidInput` unless the text is one query, or a description of one, of these tables (`schema.table`), by
    functions of Spark's own that reach nothing else.

    All that is not known to be harmless is refused. It has to be the parsed query that is looked at: to analyse
    ``text.`/etc/passwd` `` is to open the file. Raises `ParseException` for what Spark cannot parse.
    """
    functions = callable_functions(spark)
    for part in _parts(spark._jsparkSession.sessionState().sqlParser().parsePlan(sql), spark):
        kind = part.getClass().getSimpleName().rstrip("$")
        if _is_a(f"{CATALYST}.plans.logical.LogicalPlan", part, spark) and not _is_harmless(kind):
            raise InvalidInput(f"Spark rejects the query: {kind} is no part of a query that only reads tables.")
        if kind == "ExpressionWithUnresolvedIdentifier":
            raise InvalidInput("Spark rejects the query: write names as they are, not as IDENTIFIER(…).")
        if kind in TABLE_NAMES:
            _check_table(part, tables)
        if kind in {"UnresolvedFunction", "UnresolvedTableValuedFunction", "UnresolvedGenerator"}:
            name = _name_of_function(part, kind)
            if name not in functions:
                raise InvalidInput(f"Spark rejects the query: the function {name} is not among those that it may call.")


def _is_harmless(kind: str) -> bool:
    return bool(QUERIES.fullmatch(kind) or DESCRIPTIONS.fullmatch(kind))


def _check_table(named: JavaObject, tables: Collection[str]) -> None:
    """A name alone is that of a subquery (WITH), or of nothing: all tables are in schemas."""
    names = _strings(named.multipartIdentifier())
    name = ".".join(names[1:] if names[0].lower() == "spark_catalog" else names)
    if len(names) > 1 and name.lower() not in {table.lower() for table in tables}:
        raise InvalidInput(f"Spark rejects the query: there is no table {name} to read; there are {', '.join(tables)}.")
    if named.getClass().getSimpleName() == "UnresolvedRelation" and not named.options().isEmpty():
        raise InvalidInput("Spark rejects the query: a table is read without options (WITH).")


def callable_functions(spark: SparkSession) -> set[str]:
    """The names of those functions of Spark's own that a query may call."""
    analysis = spark._jvm.org.apache.spark.sql.catalyst.analysis  # type: ignore[union-attr]
    scalar, table = (
        getattr(analysis, registry).builtin().listFunction().mkString(" ")
        for registry in ("FunctionRegistry", "TableFunctionRegistry")
    )
    names = {name.rpartition(".")[2].strip("`") for name in f"{scalar} {table}".split()}
    return {name for name in names if not REFUSED_FUNCTIONS.fullmatch(name)}


def _name_of_function(function: JavaObject, kind: str) -> str:
    """Without what is before its last dot: that of Spark's own is `system.builtin`."""
    if kind == "UnresolvedGenerator":
        return str(function.name().funcName()).lower()
    return _strings(function.nameParts() if kind == "UnresolvedFunction" else function.name())[-1].lower()


def _strings(names: JavaObject) -> list[str]:
    return [str(names.apply(number)) for number in range(names.length())]


def _parts(tree: JavaObject, spark: SparkSession) -> Iterator[JavaObject]:
    """The node, and all that is in it, however it is kept: children, subqueries, the queries of WITH."""
    still = [tree]
    while still:
        part = still.pop()
        yield part
        is_many = _is_a("scala.collection.Iterable", part, spark)
        if is_many or _is_a("scala.Product", part, spark):
            inner = part.iterator() if is_many else part.productIterator()
            while inner.hasNext():
                if isinstance(item := inner.next(), JavaObject):
                    still.append(item)


def _is_a(kind: str, part: JavaObject, spark: SparkSession) -> bool:
    return bool(is_instance_of(spark.sparkContext._gateway, part, kind))
