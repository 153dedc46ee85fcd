"""Spark's Thrift server, the protocol of JDBC and ODBC drivers for Hive and Spark: its clients read the lake's tables.

Spark's own server lets whoever opens a session set properties of its Java and of Hive, before there is a query. So its
port is never opened: what a client sends goes through `ReadingService`, and only then to Spark's own service.
"""

import os
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from py4j.java_gateway import JavaObject
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from pipelines import java_process
from pipelines.errors import InvalidInput, log_text
from pipelines.io.spark.read_only import check_is_query
from pipelines.session import RUNTIME
from pipelines.settings import SqlServer

DEFAULT = "default"
"""The schema in which a session begins: it is empty."""

PROPERTIES = {
    # Its threads load classes as Spark's own do, and not as those of `spark.jars`: Delta is not among them.
    "spark.driver.extraClassPath": str(RUNTIME / "jars" / "spark" / "*"),
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
    "hive.server2.idle.session.timeout": "1h",
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

STOP_SECONDS = 2
"""How long it waits for clients that are connected when it ends."""

PASSED_ON = frozenset(
    {
        "CloseSession",
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
        "GetOperationStatus",
        "CancelOperation",
        "CloseOperation",
        "GetResultSetMetadata",
    }
)
"""Calls that name no statement and no property. A new Spark may have more, which are not answered."""

USE = re.compile(r"\s*USE\s+((SCHEMA|DATABASE|NAMESPACE)\s+)?`?(?P<schema>\w+)`?\s*;?\s*", re.IGNORECASE)


class ReadingService:
    """Answers the calls of a client of HiveServer2, for the Java that receives them.

    Properties that a client wants to set are dropped: with a session, the schema that it begins in is all that counts;
    with a statement, nothing.

    Args:
        spark: The session whose parser looks at statements.
        service: Spark's own service, which answers what may be answered.
        tables: The tables (`schema.table`) that may be read; looked at for each statement.
    """

    def __init__(self, spark: SparkSession, service: JavaObject, tables: Collection[str]) -> None:
        self._spark = spark
        self._service = service
        self._tables = tables
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
            return self._rpc.TExecuteStatementResp(self._refusal(str(error)))
        request.unsetConfOverlay()
        return self._service.ExecuteStatement(request)

    def FetchResults(self, request: JavaObject) -> JavaObject:  # noqa: N802, as the protocol calls it
        """Gives rows; of what the server says of a statement there is none."""
        if request.getFetchType() != LOG:
            return self._service.FetchResults(request)
        java = self._spark._jvm.java  # type: ignore[union-attr]
        none = self._rpc.TStringColumn(java.util.ArrayList(), java.nio.ByteBuffer.allocate(0))
        lines = self._rpc.TRowSet(0, java.util.ArrayList())
        lines.addToColumns(self._rpc.TColumn.stringVal(none))
        answer = self._rpc.TFetchResultsResp(self._rpc.TStatus(self._rpc.TStatusCode.SUCCESS_STATUS))
        answer.setHasMoreRows(False)
        answer.setResults(lines)
        return answer

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
def listening(spark: SparkSession, address: SqlServer, tables: Collection[str]) -> Iterator[None]:
    """Clients are answered for as long as the block lasts, on the loopback interface."""
    jvm: Any = spark._jvm
    ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
    sessions, service = _services(spark)
    reading = ReadingService(spark, service, tables)
    thrift = jvm.org.apache.thrift
    socket = thrift.transport.TServerSocket(jvm.java.net.InetSocketAddress(address.host, address.port))
    binary = thrift.protocol.TBinaryProtocol.Factory(False, True, LONGEST_MESSAGE, LONGEST_MESSAGE)
    arguments = (
        thrift.server.TThreadPoolServer.Args(socket)
        .processor(jvm.org.apache.hive.service.auth.TSetIpAddressProcessor(reading))
        .transportFactory(jvm.org.apache.hive.service.auth.PlainSaslHelper.getPlainTransportFactory("NONE"))
        .protocolFactory(binary)
        .maxWorkerThreads(CLIENTS)
        .stopTimeoutVal(STOP_SECONDS)
    )
    server = thrift.server.TThreadPoolServer(arguments)
    thread = Thread(target=server.serve, name="Thrift server", daemon=True)
    thread.start()
    try:
        yield
    finally:
        if java_process.exit_code() is None:
            server.stop()
            thread.join()
            sessions.stop()


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
