"""Which calls of a client reach Spark's Thrift service, and with what; on the real one, see `tests/integration`."""

from types import SimpleNamespace
from typing import Any

import pytest

from pipelines.errors import InvalidInput
from pipelines.io.spark import thrift_server
from pipelines.io.spark.thrift_server import PASSED_ON, ReadingService

TABLES = ["gold.remaining_stops", "ops.batches"]
QUERY = "SELECT 1"


class Request:
    """A request to open a session or to execute a statement, as Thrift's classes for Java have it."""

    def __init__(self, statement: str = QUERY, **properties: str) -> None:
        self._statement = statement
        self.properties: dict[str, str] | None = properties

    def getConfiguration(self) -> dict[str, str] | None:  # noqa: N802
        return self.properties

    def getStatement(self) -> str:  # noqa: N802
        return self._statement

    def getClient_protocol(self) -> str:  # noqa: N802
        return "V10"

    def unsetConfiguration(self) -> None:  # noqa: N802
        self.properties = None

    unsetConfOverlay = unsetConfiguration  # noqa: N815


class Service:
    """Spark's service: keeps what reaches it."""

    def __init__(self) -> None:
        self.reached: list[tuple[str, Any]] = []

    def __getattr__(self, call: str) -> Any:
        def answer(request: Any) -> Any:
            self.reached.append((call, request))
            return SimpleNamespace(getSessionHandle=lambda: "handle")

        return answer


class Status(SimpleNamespace):
    def setErrorMessage(self, message: str) -> None:  # noqa: N802
        self.message = message


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def reading(service: Service, monkeypatch: pytest.MonkeyPatch) -> ReadingService:
    """One for which `QUERY` is the only query."""

    def check(_spark: object, statement: str, _tables: object) -> None:
        if statement != QUERY:
            raise InvalidInput("Spark rejects the query: it is none.")

    monkeypatch.setattr(thrift_server, "check_is_query", check)
    rpc = SimpleNamespace(
        TStatus=lambda code: Status(code=code),
        TStatusCode=SimpleNamespace(ERROR_STATUS="error"),
        TExecuteStatementResp=lambda status: status,
        TOpenSessionResp=lambda status, _protocol: status,
        TExecuteStatementReq=lambda handle, statement: (handle, statement),
    )
    hive = SimpleNamespace(service=SimpleNamespace(rpc=SimpleNamespace(thrift=rpc)))
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hive=hive)))
    return ReadingService(SimpleNamespace(_jvm=jvm), service, TABLES)  # type: ignore[arg-type]


def test_session_keeps_of_its_properties_the_schema_alone(reading: ReadingService, service: Service) -> None:
    request = Request(**{"use:database": "GOLD", "set:system:a": "b", "set:metaconf:hive.metastore.uris": "thrift://x"})
    reading.OpenSession(request)
    assert service.reached == [("OpenSession", request), ("ExecuteStatement", ("handle", "USE GOLD"))]
    assert request.properties is None


@pytest.mark.parametrize("schema", ["silver", "text", "gold; DROP TABLE gold.remaining_stops", "gold --", " gold"])
def test_session_in_a_schema_that_the_lake_has_not_is_refused(
    schema: str, reading: ReadingService, service: Service
) -> None:
    assert reading.OpenSession(Request(**{"use:database": schema})).message == f"There is no schema {schema}."
    assert not service.reached


@pytest.mark.parametrize("sql", [QUERY, "USE gold", "use `ops` ;", " USE SCHEMA Default"])
def test_query_and_choice_of_a_schema_are_executed_without_properties(
    sql: str, reading: ReadingService, service: Service
) -> None:
    request = Request(sql, **{"spark.sql.variable.substitute": "true"})
    reading.ExecuteStatement(request)
    assert service.reached == [("ExecuteStatement", request)]
    assert request.properties is None


@pytest.mark.parametrize("sql", ["DROP TABLE gold.remaining_stops", "USE text", "USE gold; DROP TABLE x", "USE a.gold"])
def test_other_statement_is_refused_with_the_reason(sql: str, reading: ReadingService, service: Service) -> None:
    assert reading.ExecuteStatement(Request(sql)).message == "Spark rejects the query: it is none."
    assert not service.reached


def test_calls_that_name_neither_statement_nor_property_are_passed_on(
    reading: ReadingService, service: Service
) -> None:
    for call in PASSED_ON:
        getattr(reading, call)("request")
    assert {call for call, _ in service.reached} == PASSED_ON


@pytest.mark.parametrize(
    "call", ["UploadData", "DownloadData", "GetDelegationToken", "RenewDelegationToken", "SetClientInfo", "GetQueryId"]
)
def test_other_call_is_not_answered(call: str, reading: ReadingService, service: Service) -> None:
    with pytest.raises(AttributeError):
        getattr(reading, call)
    assert not service.reached
