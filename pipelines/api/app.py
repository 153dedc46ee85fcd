"""The routes: what is asked how, and what is answered."""

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Header, Query, Request
from fastapi.responses import JSONResponse, Response
from starlette.types import ASGIApp

from pipelines.api import page, problems
from pipelines.api.guard import Guard
from pipelines.api.hub import Hub
from pipelines.api.limits import Limits
from pipelines.api.problems import (
    Problem,
    ProblemDetails,
    documented,
    not_a_number,
    not_ready,
    not_yet,
    unknown_package,
    unreadable,
)
from pipelines.api.report import EXAMPLE, LARGEST, POSITION, Entry, PlacedReport, Position, number_in
from pipelines.api.stream import EventStream, events
from pipelines.contracts.topics import PACKAGE_REPORTS
from pipelines.errors import InvalidInput
from pipelines.web.headers import Headers

NO_STORE = {"Cache-Control": "no-store"}
ABOUT = """
Where a package is, and how many stops remain. A report is what the topic `package-reports` says last of the package;
`position` is that message's place on it. A question `atLeast` of a position is answered by a report that is as new, or,
after some seconds, by 503: so whoever has seen a report of one server never gets an older one from the next.

The topic is compacted: a stream gives the report as it is, and each later one, but not what came between two events.
"""
EVENTS = """
Server-sent events: `report`, with the report as data, and `gone`, when there is none any more. The stream begins with
the report, unless `Last-Event-ID` says that the client has it. A stream that is open and silent means that nothing has
changed; when the server cannot promise that, it ends the stream.
"""
EVENT_EXAMPLE = (
    "retry: 2000\n\nevent: report\nid: Yfk2sSlsTSmXEkuH3sRzkg/2@88\n"
    'data: {"position": "package-reports/2@88", "trackingNumber": 42, "numberOfRemainingStops": 4, …}\n\n'
)

NUMBER: dict[str, Any] = {
    "name": "trackingNumber",
    "in": "path",
    "required": True,
    "schema": {"type": "integer", "minimum": 1, "maximum": LARGEST, "examples": [42]},
}
AT_LEAST: dict[str, Any] = {
    "name": "atLeast",
    "in": "query",
    "required": False,
    "description": "Place on a topic, as package-reports/2@88, that was read; or, as ship-events/0@9, that of a scan "
    "or a route which the report must name, or a later one in its partition.",
    "schema": {"type": "string", "pattern": f"^{POSITION.pattern}$", "examples": ["package-reports/2@88"]},
}


@dataclass(frozen=True)
class Service:
    """What the routes need."""

    entry: Callable[[int], Entry | None]
    why_not_ready: Callable[[], str | None]
    hub: Hub
    limits: Limits
    wait_seconds: float

    def checked_entry(self, number: int) -> Entry | None:
        """What the topic says last of a package. Raises `Problem` when nobody can vouch for it.

        The store may be emptied, or be complete again, while it is read: readiness is asked before and after.
        """
        self._raise_if_not_ready()
        entry = self.entry(number)
        self._raise_if_not_ready()
        return entry

    def _raise_if_not_ready(self) -> None:
        if why := self.why_not_ready():
            raise not_ready(why)

    def report(self, number: int) -> Entry:
        """The report of a package. Raises `Problem`."""
        entry = self.checked_entry(number)
        if entry is None:
            raise unknown_package(number)
        if entry.kind == "unreadable":
            raise unreadable(number)
        return entry

    async def report_at_least(self, number: int, text: str, host: str) -> Entry:
        """The same, not older than a position; waits for it. Raises `Problem`."""
        try:
            position = Position.parse(text)
        except InvalidInput as error:
            raise Problem(422, "invalid-request", "Invalid request", f"atLeast: {error}") from error
        if self._is_at_least(number, position):
            return self.report(number)
        with self.limits.stream(host), suppress(TimeoutError):
            async with asyncio.timeout(self.wait_seconds):
                while not self.hub.is_closed:
                    await self.hub.advanced()
                    if self._is_at_least(number, position):
                        return self.report(number)
        raise not_yet(text)

    def _is_at_least(self, number: int, position: Position) -> bool:
        entry = self.checked_entry(number)
        if position.topic == PACKAGE_REPORTS.name:
            return self.hub.positions.get(position.partition, 0) > position.offset
        return entry is not None and entry.kind == "report" and entry.is_at_least(position)


def create_app(service: Service, measured: Callable[[ASGIApp], ASGIApp] | None = None) -> FastAPI:
    """The API and its pages; `measured` is put around all that answers."""
    app = FastAPI(
        title="SuperFastPTS",
        version="1",
        description=ABOUT,
        docs_url=None,
        redoc_url=None,
        separate_input_output_schemas=False,
    )
    problems.add_to(app)
    app.add_middleware(Guard, limits=service.limits)
    app.add_middleware(Headers)
    if measured:
        app.add_middleware(measured)

    @app.get(
        "/packages/{trackingNumber}",
        tags=["packages"],
        summary="The report of a package",
        response_model=PlacedReport,
        openapi_extra={"parameters": [NUMBER, AT_LEAST]},  # read by hand: FastAPI takes half of an answer's time for it
        responses={
            200: {"content": {"application/json": {"example": EXAMPLE}}},
            **documented(404, 422, 429, 503),
        },
    )
    async def package(request: Request) -> Response:
        number, at_least = tracking_number_of(request), request.query_params.get("atLeast")
        entry = (
            service.report(number)
            if at_least is None
            else await service.report_at_least(number, at_least, host_of(request))
        )
        return Response(entry.placed, media_type="application/json", headers=NO_STORE)

    @app.get(
        "/packages/{trackingNumber}/events",
        tags=["packages"],
        summary="The report of a package, and each later one",
        description=EVENTS,
        response_class=Response,
        openapi_extra={"parameters": [NUMBER]},
        responses={
            200: {"content": {"text/event-stream": {"schema": {"type": "string"}, "example": EVENT_EXAMPLE}}},
            **documented(404, 422, 429, 503),
        },
    )
    async def package_events(
        request: Request,
        last_event_id: Annotated[
            str | None, Header(max_length=200, description="The `id` of the last event that the client got.")
        ] = None,
        seen: Annotated[
            str | None,
            Query(alias="lastEventId", max_length=200, description="The same, for clients that cannot set the header."),
        ] = None,
    ) -> Response:
        number = tracking_number_of(request)
        service.report(number)
        with ExitStack() as held:
            held.enter_context(service.limits.stream(host_of(request)))
            news = events(
                number,
                last_event_id or seen,
                service.hub,
                service.entry,
                lambda: service.why_not_ready() is None,
            )
            return EventStream(news, held.pop_all())

    @app.get("/healthz", tags=["operation"], summary="Whether the process answers", responses={200: STATUS})
    async def health() -> JSONResponse:
        return JSONResponse({"status": "ok"}, headers=NO_STORE)

    @app.get(
        "/readyz",
        tags=["operation"],
        summary="Whether reports are as new as the log",
        responses={200: STATUS, **documented(503)},
    )
    async def readiness() -> JSONResponse:
        if why := service.why_not_ready():
            raise not_ready(why)
        return JSONResponse({"status": "ready"}, headers=NO_STORE)

    page.add_to(app, service.report, lambda: service.hub.topic_id)
    app.openapi = partial(_openapi, app, app.openapi)  # type: ignore[method-assign]
    return app


STATUS: dict[str, Any] = {
    "description": "It is so.",
    "content": {"application/json": {"schema": {"type": "object", "properties": {"status": {"type": "string"}}}}},
}


def _openapi(app: FastAPI, made: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """OpenAPI with the form of errors, which no route names as what it returns."""
    schema = made()
    schema.setdefault("components", {}).setdefault("schemas", {}).setdefault(
        "ProblemDetails", ProblemDetails.model_json_schema()
    )
    return schema


def tracking_number_of(request: Request) -> int:
    """The number in the path. Raises `Problem` for what is none."""
    number = number_in(request.path_params["trackingNumber"])
    if number is None:
        raise not_a_number()
    return number


def host_of(request: Request) -> str:
    """The client's address."""
    return request.client.host if request.client else ""
