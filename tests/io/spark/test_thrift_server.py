"""Which calls of a client reach Spark's Thrift service, and with what; on the real one, see `tests/integration`."""

import time
from collections.abc import Sequence
from threading import Event, Timer
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from pipelines.errors import InvalidInput
from pipelines.io.spark import open_queries, thrift_server
from pipelines.io.spark.thrift_server import PASSED_ON, ReadingService
from pipelines.metrics import QUERY_OUTCOMES

TIMEOUT = 600
TABLES = ["gold.remaining_stops", "ops.batches"]
QUERY = "SELECT 1"


class Handle:
    """Of an operation or a session, by its number."""

    def __init__(self, number: int) -> None:
        self._name = SimpleNamespace(getGuid=lambda: number.to_bytes(16, "big"))

    def getOperationId(self) -> Any:  # noqa: N802
        return self._name

    getSessionId = getOperationId  # noqa: N815


class Request:
    """A request to open a session or to execute a statement, as Thrift's classes for Java have it."""

    def __init__(self, statement: str = QUERY, timeout: int = 0, /, **properties: str) -> None:
        self._statement = statement
        self.timeout = timeout
        self.properties: dict[str, str] | None = properties

    def getSessionHandle(self) -> Handle:  # noqa: N802
        return Handle(1)

    def getQueryTimeout(self) -> int:  # noqa: N802
        return self.timeout

    def setQueryTimeout(self, seconds: int) -> None:  # noqa: N802
        self.timeout = seconds

    def getConfiguration(self) -> dict[str, str] | None:  # noqa: N802
        return self.properties

    def getStatement(self) -> str:  # noqa: N802
        return self._statement

    def getClient_protocol(self) -> str:  # noqa: N802
        return "V10"

    def unsetConfiguration(self) -> None:  # noqa: N802
        self.properties = None

    unsetConfOverlay = unsetConfiguration  # noqa: N815


def of_operation(number: int = 7, fetch_type: int = 0) -> Any:
    """A request that is about an operation."""
    return SimpleNamespace(getOperationHandle=lambda: Handle(number), getFetchType=lambda: fetch_type)


def fetched(status: str) -> Any:
    """An answer to a fetch."""
    return SimpleNamespace(getStatus=lambda: SimpleNamespace(getStatusCode=lambda: status))


ROWS, FAILED = fetched("SUCCESS_STATUS"), fetched("ERROR_STATUS")


class Service:
    """Spark's service: keeps what reaches it. Statements become operation 7; what cancels the jobs of one is noted."""

    def __init__(self) -> None:
        self.reached: list[tuple[str, Any]] = []
        self.state = "FINISHED_STATE"
        self.cancelled = Event()
        self.fetch_takes = 0.0
        self.fails = False

    def __getattr__(self, call: str) -> Any:
        def answer(request: Any) -> Any:
            self.reached.append((call, request))
            handle = None if self.fails else Handle(7)
            return SimpleNamespace(getSessionHandle=lambda: "handle", getOperationHandle=lambda: handle)

        return answer

    def FetchResults(self, _request: Any) -> Any:  # noqa: N802
        return FAILED if self.cancelled.wait(self.fetch_takes) or self.fails else ROWS

    def GetOperationStatus(self, request: Any) -> Any:  # noqa: N802
        self.reached.append(("GetOperationStatus", request))
        return Status(code="success", getOperationState=lambda: self.state)

    def cancelJobGroupAndFutureJobs(self, group: str) -> None:  # noqa: N802
        assert UUID(group).int == 7
        self.cancelled.set()


class Status(SimpleNamespace):
    def setErrorMessage(self, message: str) -> None:  # noqa: N802
        self.message = message

    def setOperationState(self, state: str) -> None:  # noqa: N802
        self.state = state


class Told:
    """What becomes of queries, as observers are told of it."""

    def __init__(self) -> None:
        self.outcomes: list[tuple[str, float | None]] = []

    def query_ended(self, outcome: str, seconds: float | None) -> None:
        assert outcome in QUERY_OUTCOMES
        self.outcomes.append((outcome, seconds))

    def sessions_are(self, count: int) -> None:
        raise NotImplementedError


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def reading(service: Service, told: Told, monkeypatch: pytest.MonkeyPatch) -> ReadingService:
    """One for which `QUERY` is the only query."""

    def check(_spark: object, statement: str, _tables: object) -> None:
        if statement != QUERY:
            raise InvalidInput("Spark rejects the query: it is none.")

    monkeypatch.setattr(thrift_server, "check_is_query", check)
    rpc = SimpleNamespace(
        TStatus=lambda code: Status(code=code),
        TStatusCode=SimpleNamespace(ERROR_STATUS="error"),
        TOperationState=SimpleNamespace(ERROR_STATE="error"),
        TFetchResultsResp=lambda status: status,
        TCloseOperationReq=lambda handle: SimpleNamespace(getOperationHandle=lambda: handle),
        TExecuteStatementResp=lambda status: status,
        TOpenSessionResp=lambda status, _protocol: status,
        TExecuteStatementReq=lambda handle, statement: (handle, statement),
    )
    hive = SimpleNamespace(service=SimpleNamespace(rpc=SimpleNamespace(thrift=rpc)))
    jvm = SimpleNamespace(org=SimpleNamespace(apache=SimpleNamespace(hive=hive)))
    spark = SimpleNamespace(_jvm=jvm, _jsc=SimpleNamespace(sc=lambda: service))
    return ReadingService(spark, service, TABLES, TIMEOUT, [told])  # type: ignore[arg-type]


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
    ("setting", "of_client", "limit"),
    [(600, 0, 600), (600, 5, 5), (600, 100_000, 600), (600, -1, 600), (0, 0, 0), (0, 5, 5)],
)
def test_client_may_allow_its_query_less_time_and_not_more(
    reading: ReadingService, setting: int, of_client: int, limit: int
) -> None:
    request = Request(QUERY, of_client)
    reading.timeout = setting
    reading.ExecuteStatement(request)
    assert request.timeout == limit


@pytest.mark.parametrize(
    ("setting", "of_client", "who"), [(1, 0, "PTS_SQL__QUERY_TIMEOUT_SECONDS"), (600, 1, "its client")]
)
def test_query_that_takes_longer_than_it_may_is_cancelled_with_one_sentence(
    reading: ReadingService, service: Service, setting: int, of_client: int, who: str
) -> None:
    service.fetch_takes = 60
    reading.timeout = setting
    reading.ExecuteStatement(Request(QUERY, of_client))
    told = f"The query took longer than 1 s, and was cancelled: {who} allows no more."
    looked_after = Timer(1, reading.look_after)
    looked_after.start()
    assert [reading.FetchResults(of_operation()).message for _ in range(2)] == [told, told]
    looked_after.join()


def test_time_between_fetches_is_the_clients_own(
    reading: ReadingService, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)

    def fetch(began: float, ended: float) -> Any:
        def rows(_request: object) -> Any:
            nonlocal now
            now = ended
            reading.look_after()
            return ROWS

        nonlocal now
        now = began
        reading.look_after()
        monkeypatch.setattr(service, "FetchResults", rows)
        return reading.FetchResults(of_operation())

    reading.ExecuteStatement(Request())
    assert [fetch(10, 100), fetch(2_000, 2_400), fetch(5_000, 5_099)] == [ROWS, ROWS, ROWS]
    assert not service.cancelled.is_set()
    assert "longer than 600 s" in fetch(7_000, 7_001).message


def test_query_that_spark_ends_before_it_has_a_plan_is_told_in_the_same_words(
    reading: ReadingService, service: Service
) -> None:
    reading.ExecuteStatement(Request())
    service.state = "TIMEDOUT_STATE"
    answer = reading.GetOperationStatus(of_operation())
    assert (answer.state, answer.message) == ("error", open_queries.too_long(600, 600))


def test_query_whose_plan_fails_because_it_was_cancelled_is_told_so(
    reading: ReadingService, service: Service, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes jobs to make a plan, too: the log of a table is read."""
    reading.ExecuteStatement(Request())
    monkeypatch.setattr(time, "monotonic", lambda now=time.monotonic: now() + TIMEOUT)
    reading.look_after()
    service.state = "ERROR_STATE"
    assert reading.GetOperationStatus(of_operation()).message == open_queries.too_long(600, 600)
    assert [outcome for outcome, _ in told.outcomes] == ["cancelled"]


def test_client_cancels_a_query_of_which_rows_are_fetched(reading: ReadingService, service: Service) -> None:
    reading.ExecuteStatement(Request())
    reading.CancelOperation(of_operation())
    assert service.reached[-1][0] == "CancelOperation"
    assert reading.FetchResults(of_operation()).message == "The query was cancelled by its client."


def test_what_is_not_a_query_has_no_limit(reading: ReadingService, service: Service) -> None:
    assert reading.FetchResults(of_operation(8)) == ROWS
    reading.CancelOperation(of_operation(8))
    assert not service.cancelled.is_set()


def test_query_that_nobody_reads_any_more_is_closed(
    reading: ReadingService, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    reading.ExecuteStatement(Request())
    reading.look_after()
    reading.FetchResults(of_operation())
    now = 3_600.0
    reading.look_after()
    assert "CloseOperation" not in dict(service.reached)
    now = 3_601.0
    reading.look_after()
    reading.look_after()
    assert [call for call, _ in service.reached].count("CloseOperation") == 1


@pytest.mark.parametrize("call", ["CloseOperation", "CloseSession"])
def test_query_that_is_closed_is_forgotten(call: str, reading: ReadingService, service: Service) -> None:
    reading.ExecuteStatement(Request())
    getattr(reading, call)(of_operation() if call == "CloseOperation" else Request())
    assert service.reached[-1][0] == call
    assert not reading._open


Calls = Sequence[tuple[str, Any]]
ASKED = ("ExecuteStatement", Request())
READ, CLOSED = ("FetchResults", of_operation()), ("CloseOperation", of_operation())
CANCELLED, LOOKED_AT = ("CancelOperation", of_operation()), ("GetOperationStatus", of_operation())


@pytest.mark.parametrize(
    ("calls", "outcomes"),
    [
        ([ASKED, LOOKED_AT, READ, READ], []),
        ([ASKED, READ, CLOSED, CLOSED], ["answered"]),
        ([ASKED, READ, ("CloseSession", Request())], ["answered"]),
        ([ASKED, CLOSED], ["cancelled"]),
        ([ASKED, CANCELLED, READ, CLOSED], ["cancelled"]),
        ([ASKED, READ, CANCELLED, CLOSED], ["cancelled"]),
        ([("ExecuteStatement", Request("USE gold")), READ, CLOSED], []),
        ([("ExecuteStatement", Request("DROP TABLE x"))], ["refused"]),
    ],
)
def test_what_becomes_of_a_query_is_told_once(
    calls: Calls, outcomes: list[str], reading: ReadingService, told: Told
) -> None:
    for call, request in calls:
        getattr(reading, call)(request)
    assert [outcome for outcome, _ in told.outcomes] == outcomes
    assert all((seconds is None) == (outcome == "refused") for outcome, seconds in told.outcomes)


def test_query_that_fails_is_told_whenever_it_does(reading: ReadingService, service: Service, told: Told) -> None:
    service.fails = True
    reading.ExecuteStatement(Request())
    service.fails = False
    reading.ExecuteStatement(Request())
    service.fails = True
    reading.FetchResults(of_operation())
    reading.CloseOperation(of_operation())
    service.fails, service.state = False, "ERROR_STATE"
    reading.ExecuteStatement(Request())
    reading.GetOperationStatus(of_operation())
    reading.CloseOperation(of_operation())
    assert [outcome for outcome, _ in told.outcomes] == ["failed"] * 3


@pytest.mark.parametrize(
    "call", ["UploadData", "DownloadData", "GetDelegationToken", "RenewDelegationToken", "SetClientInfo", "GetQueryId"]
)
def test_other_call_is_not_answered(call: str, reading: ReadingService, service: Service) -> None:
    with pytest.raises(AttributeError):
        getattr(reading, call)
    assert not service.reached
