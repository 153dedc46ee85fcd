"""Spark's Thrift server, the protocol of JDBC and ODBC drivers for Hive and Spark: its clients read the lake's tables.

Spark's own server lets whoever opens a session set properties of its Java and of Hive, before there is a query. So its
port is never opened: what a client sends goes through `ReadingService`, and only then to Spark's own service.
"""

import os
import re
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any, Protocol

from py4j.java_gateway import JavaObject
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from pipelines import java_process
from pipelines.errors import InvalidInput, in_words, log_text, warn
from pipelines.io.spark.open_queries import OpenQuery, guid, shorter, too_long
from pipelines.io.spark.read_only import check_is_query
from pipelines.java_runtime import JARS
from pipelines.settings import SqlServer

DEFAULT = "default"
"""The schema in which a session begins: it is empty."""

PROPERTIES = {
    # Its threads load classes as Spark's own do, and not as those of `spark.jars`: Delta is not among them.
    "spark.driver.extraClassPath": str(JARS / "spark" / "*"),
    # ${env:…} in a query would be this process's environment.
    "spark.sql.variable.substitute": "false",
    # An answer is sent as it comes, and never whole in memory.
    "spark.sql.thriftServer.incrementalCollect": "true",
    # What clients are told of a table's columns is asked of the catalog, and not of the table.
    "spark.databricks.delta.catalog.update.enabled": "true",
    # Each client has a current schema of its own.
    "spark.sql.hive.thriftServer.singleSession": "false",
}
"""What the session has to be opened with: sessions of clients begin with it, and may not change it."""

HIVE_PROPERTIES = {
    "hive.server2.enable.doAs": "false",
    "hive.server2.logging.operation.enabled": "false",  # it would be files in /tmp
    "hive.server2.global.init.file.location": "",  # statements of a file, for each session
    "hive.server2.async.exec.threads": "8",
    "hive.server2.idle.session.timeout": "1h",  # of a session without an open query
    "hive.server2.session.check.interval": "1min",
    # A session that is closed asks a metastore, which nothing else here does: it is empty, and in memory.
    "javax.jdo.option.ConnectionURL": "jdbc:derby:memory:sessions;create=true",
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
}

LOG = 1
"""Of `FetchResults`: not the rows, but what the server says of the operation."""

CLIENTS = 32
"""More connections than that wait."""

LONGEST_MESSAGE = 16 << 20

IDLE_SECONDS = 3_600.0
"""A query whose client asks for no row for so long is closed."""

LOOK_SECONDS = 0.5
"""How often it looks for queries that take too long."""

STOP_SECONDS = 2
"""How long it waits for clients that are connected when it ends."""

PASSED_ON = frozenset(
    {
        "GetInfo",
        "GetTypeInfo",
        "GetCatalogs",
        "GetSchemas",
        "GetTables",
        "GetTableTypes",
        "GetColumns",
        "GetFunctions",
        "GetPrimaryKeys",
        "GetCrossReference",
        "GetResultSetMetadata",
    }
)
"""Calls that name no statement and no property. A new Spark may have more, which are not answered."""

USE = re.compile(r"\s*USE\s+((SCHEMA|DATABASE|NAMESPACE)\s+)?`?(?P<schema>\w+)`?\s*;?\s*", re.IGNORECASE)


class Observer(Protocol):
    """Who is told what the server does, from several threads."""

    def query_ended(self, outcome: str, seconds: float | None) -> None:
        """Is told how a query ended (`metrics.QUERY_OUTCOMES`), and how long it worked; None for not at all."""

    def sessions_are(self, count: int) -> None:
        """Is told twice a second how many sessions are open."""


class ReadingService:
    """Answers the calls of a client of HiveServer2, for the Java that receives them.

    Properties that a client wants to set are dropped: with a session, the schema that it begins in is all that counts;
    with a statement, nothing.

    Args:
        spark: The session whose parser looks at statements.
        service: Spark's own service, which answers what may be answered.
        tables: The tables (`schema.table`) that may be read; looked at for each statement.
        timeout: How many seconds a query may take; 0 is without end. A client may have less, and not more.
        observers: Who is told what becomes of queries.

    Attributes:
        timeout: How many seconds the next queries may take.
    """

    def __init__(
        self,
        spark: SparkSession,
        service: JavaObject,
        tables: Collection[str],
        timeout: int,
        observers: Sequence[Observer] = (),
    ) -> None:
        self._spark = spark
        self._service = service
        self._tables = tables
        self.timeout = timeout
        self._observers = observers
        self._open: dict[bytes, OpenQuery] = {}
        self._rpc = spark._jvm.org.apache.hive.service.rpc.thrift  # type: ignore[union-attr]

    def __getattr__(self, call: str) -> Any:
        if call not in PASSED_ON:
            raise AttributeError(call)
        return getattr(self._service, call)

    def OpenSession(self, request: JavaObject) -> JavaObject:  # noqa: N802, as the protocol calls it
        """Opens a session, in a schema of the lake or in `default`."""
        schema = (request.getConfiguration() or {}).get("use:database") or DEFAULT
        request.unsetConfiguration()
        if not self._is_schema(schema):
            why = f"There is no schema {schema}."
            return self._rpc.TOpenSessionResp(self._refusal(why), request.getClient_protocol())
        opened = self._service.OpenSession(request)
        if schema != DEFAULT and opened.getSessionHandle():
            # Spark would do so in a thread that has Hive's class loader, which does not find Delta.
            use = self._rpc.TExecuteStatementReq(opened.getSessionHandle(), f"USE {schema}")
            self._service.ExecuteStatement(use)
        return opened

    def ExecuteStatement(self, request: JavaObject) -> JavaObject:  # noqa: N802, as the protocol calls it
        """Executes a query, or `USE` of a schema; refuses all else, with the reason."""
        try:
            self._check(request.getStatement())
        except (InvalidInput, PySparkException) as error:
            self._tell("refused", None)
            return self._rpc.TExecuteStatementResp(self._refusal(str(error)))
        request.unsetConfOverlay()
        limit, began = shorter(self.timeout, request.getQueryTimeout()), time.monotonic()
        request.setQueryTimeout(limit)  # until there is a plan, Spark itself keeps to it
        answer = self._service.ExecuteStatement(request)
        if USE.fullmatch(request.getStatement()):
            return answer
        if handle := answer.getOperationHandle():
            session = guid(request.getSessionHandle().getSessionId())
            self._open[guid(handle.getOperationId())] = OpenQuery(handle, session, limit, began)
        else:
            self._tell("failed", time.monotonic() - began)
        return answer

    def GetOperationStatus(self, request: JavaObject) -> JavaObject:  # noqa: N802, as the protocol calls it
        """Says how far a statement is. One that took too long has failed, with the reason."""
        answer = self._service.GetOperationStatus(request)
        if query := self._query(request):
            state = str(answer.getOperationState())
            if state == "TIMEDOUT_STATE":
                self._cancel(query, too_long(query.limit, self.timeout))
            if query.cancelled and state in {"TIMEDOUT_STATE", "ERROR_STATE"}:
                answer.setOperationState(self._rpc.TOperationState.ERROR_STATE)
                answer.setErrorMessage(query.cancelled)
            elif state == "ERROR_STATE":
                self._end(query, "failed")
        return answer

    def FetchResults(self, request: JavaObject) -> JavaObject:  # noqa: N802, as the protocol calls it
        """Gives rows, for which the query is executed; of what the server says of a statement there is none."""
        if request.getFetchType() != LOG:
            return self._rows(request)
        java = self._spark._jvm.java  # type: ignore[union-attr]
        none = self._rpc.TStringColumn(java.util.ArrayList(), java.nio.ByteBuffer.allocate(0))
        lines = self._rpc.TRowSet(0, java.util.ArrayList())
        lines.addToColumns(self._rpc.TColumn.stringVal(none))
        answer = self._rpc.TFetchResultsResp(self._rpc.TStatus(self._rpc.TStatusCode.SUCCESS_STATUS))
        answer.setHasMoreRows(False)
        answer.setResults(lines)
        return answer

    def CloseOperation(self, request: JavaObject) -> JavaObject:  # noqa: N802, as the protocol calls it
        """Ends a statement, wherever it is."""
        self._close(guid(request.getOperationHandle().getOperationId()))
        return self._service.CloseOperation(request)

    def CancelOperation(self, request: JavaObject) -> JavaObject:  # noqa: N802, as the protocol calls it
        """Stops a statement, also while rows of it are fetched, for which Spark by itself does nothing."""
        answer = self._service.CancelOperation(request)
        if query := self._query(request):
            self._cancel(query, "The query was cancelled by its client.")
        return answer

    def CloseSession(self, request: JavaObject) -> JavaObject:  # noqa: N802, as the protocol calls it
        """Ends a session, and all statements of it."""
        session = guid(request.getSessionHandle().getSessionId())
        for name in [name for name, query in self._open.copy().items() if query.session == session]:
            self._close(name)
        return self._service.CloseSession(request)

    def look_after(self) -> None:
        """Cancels the queries that take too long, and closes those of which nobody has asked a row for `IDLE_SECONDS`:
        their clients may be gone.
        """
        for query in self._open.copy().values():
            self._cancel_overdue(query)
            if query.is_idle(IDLE_SECONDS):
                self.CloseOperation(self._rpc.TCloseOperationReq(query.handle))

    def _rows(self, request: JavaObject) -> JavaObject:
        query = self._query(request)
        if query is None:  # of what catalogues are asked
            return self._service.FetchResults(request)
        with query.running():
            answer = self._service.FetchResults(request)
        self._cancel_overdue(query)
        if query.cancelled:
            return self._rpc.TFetchResultsResp(self._refusal(query.cancelled))
        if str(answer.getStatus().getStatusCode()) == "ERROR_STATUS":
            self._end(query, "failed")
        return answer

    def _close(self, name: bytes) -> None:
        """Forgets a query. One that gave no rows yet, or is just about to, has no answer."""
        if query := self._open.pop(name, None):
            self._end(query, "cancelled" if query.is_running else "answered")

    def _query(self, request: JavaObject) -> OpenQuery | None:
        return self._open.get(guid(request.getOperationHandle().getOperationId()))

    def _cancel_overdue(self, query: OpenQuery) -> None:
        if query.is_overdue and not query.cancelled:
            self._cancel(query, too_long(query.limit, self.timeout))

    def _cancel(self, query: OpenQuery, why: str) -> None:
        """Cancels its jobs, those that are yet to come included: a fetch has one for each partition."""
        query.cancelled = query.cancelled or why
        self._end(query, "cancelled")
        self._spark._jsc.sc().cancelJobGroupAndFutureJobs(query.jobs)

    def _end(self, query: OpenQuery, outcome: str) -> None:
        if not query.is_told:
            query.is_told = True
            self._tell(outcome, query.seconds)

    def _tell(self, outcome: str, seconds: float | None) -> None:
        for each in self._observers:
            each.query_ended(outcome, seconds)

    def _check(self, statement: str) -> None:
        use = USE.fullmatch(statement)
        if not (use and self._is_schema(use["schema"])):
            check_is_query(self._spark, statement, self._tables)

    def _is_schema(self, name: str) -> bool:
        return name.lower() in {DEFAULT, *(table.partition(".")[0] for table in self._tables)}

    def _refusal(self, why: str) -> JavaObject:
        status = self._rpc.TStatus(self._rpc.TStatusCode.ERROR_STATUS)
        status.setErrorMessage(log_text(why))
        return status

    class Java:
        implements = ("org.apache.hive.service.rpc.thrift.TCLIService$Iface",)


@contextmanager
def listening(
    spark: SparkSession, settings: SqlServer, tables: Collection[str], observers: Sequence[Observer]
) -> Iterator[None]:
    """Clients are answered for as long as the block lasts, on the loopback interface."""
    jvm: Any = spark._jvm
    ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
    sessions, service = _services(spark)
    reading = ReadingService(spark, service, tables, settings.query_timeout_seconds, observers)
    thrift = jvm.org.apache.thrift
    socket = thrift.transport.TServerSocket(jvm.java.net.InetSocketAddress(settings.host, settings.port))
    binary = thrift.protocol.TBinaryProtocol.Factory(False, True, LONGEST_MESSAGE, LONGEST_MESSAGE)
    served = (
        thrift.server.TThreadPoolServer.Args(socket)
        .processor(jvm.org.apache.hive.service.auth.TSetIpAddressProcessor(reading))
        .transportFactory(jvm.org.apache.hive.service.auth.PlainSaslHelper.getPlainTransportFactory("NONE"))
        .protocolFactory(binary)
        .maxWorkerThreads(CLIENTS)
        .stopTimeoutVal(STOP_SECONDS)
    )
    server = thrift.server.TThreadPoolServer(served)
    thread = Thread(target=server.serve, name="Thrift server", daemon=True)
    thread.start()
    is_over = Event()
    arguments = (reading, sessions.getSessionManager(), observers, is_over)
    watch = Thread(target=_look_after, args=arguments, name="Query timeouts", daemon=True)
    watch.start()
    try:
        yield
    finally:
        is_over.set()
        watch.join()
        if java_process.exit_code() is None:
            server.stop()
            thread.join()
            sessions.stop()


def _look_after(reading: ReadingService, sessions: JavaObject, observers: Sequence[Observer], is_over: Event) -> None:
    """In a thread of its own: the main one may have to wait for the processors that a query occupies."""
    failed = ""
    while not is_over.wait(LOOK_SECONDS) and java_process.exit_code() is None:
        try:
            reading.look_after()
            for each in observers:
                each.sessions_are(sessions.getOpenSessionCount())
        except Exception as error:  # whatever it is, the next query is looked after
            if failed != (failed := in_words(error)):
                warn(f"queries that take too long are not cancelled: {failed}")


def _services(spark: SparkSession) -> tuple[JavaObject, JavaObject]:
    """Spark's service of sessions, started, and that which answers a client's calls, whose port is not opened."""
    jvm: Any = spark._jvm
    jvm.java.lang.System.setProperty("derby.stream.error.file", os.devnull)
    thrift_server = jvm.org.apache.spark.sql.hive.thriftserver
    configuration = jvm.org.apache.hadoop.hive.conf.HiveConf()
    for name, value in HIVE_PROPERTIES.items():
        configuration.set(name, value)
    server = thrift_server.HiveThriftServer2(spark._jsparkSession)
    server.init(configuration)
    events = thrift_server.ui.HiveThriftServer2EventManager(spark._jsc.sc())
    getattr(thrift_server.HiveThriftServer2, "eventManager_$eq")(events)
    sessions, service = server.getServices()
    sessions.start()
    return sessions, service
