"""The routes: each page reads some tables at one batch, and says which."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from prometheus_client import CollectorRegistry
from starlette.exceptions import HTTPException

from pipelines import metrics
from pipelines.board import batches, history, package, places, quarantine
from pipelines.board.login import Login
from pipelines.board.now import MINUTES, Chart, Lags, now_page
from pipelines.board.view import View, view_of, view_of_ledger
from pipelines.contracts.envelope import masked
from pipelines.contracts.rules import Reason
from pipelines.errors import InvalidInput, LakeMismatch, LakeUnavailable, NotFound, PtsError, printable
from pipelines.processes import airflow
from pipelines.queries.headline import headline
from pipelines.settings import Settings
from pipelines.values import iso_utc, status_text
from pipelines.web.headers import Headers
from pipelines.web.instruments import CONTENT_TYPE, exposition, gauge
from pipelines.web.request_metrics import Measured, RequestMetrics
from pipelines.web.templates import templates

FOLDER = Path(__file__).parent
STATIC = {
    "board.css": "text/css",
    "board.js": "text/javascript",
    "vendored/htmx.min.js": "text/javascript",
    "vendored/uPlot.min.js": "text/javascript",
    "vendored/uPlot.min.css": "text/css",
}
PAGES = {"/": "Now", "/places": "Places", "/quarantine": "Quarantine", "/batches": "Batches", "/history": "History"}
STATUSES = {InvalidInput: 422, NotFound: 404, LakeMismatch: 503, LakeUnavailable: 503}
LONGEST_TEXT = 200
NO_STORE = {"Cache-Control": "no-store"}


def create_app(settings: Settings, lags: Lags, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> FastAPI:
    """The board's pages. Its routes are no coroutines: each reads files, in a thread of its own."""
    app = FastAPI(title="Board", docs_url=None, redoc_url=None, openapi_url=None)
    registry = CollectorRegistry()
    drawn = gauge(metrics.BOARD_BATCH, registry)
    drawn.set(-1)
    app.add_middleware(Login, board=settings.board)
    app.add_middleware(Headers)
    app.add_middleware(Measured, metrics=RequestMetrics(registry, metrics.BOARD_REQUESTS, metrics.BOARD_DURATION))
    root = settings.lake_root
    static = {name: (FOLDER / "static" / name).read_bytes() for name in STATIC}
    made = templates(FOLDER / "templates")
    made.filters |= {"text": _text, "moment": _moment, "status": status_text, "points": _points}
    made.globals |= {
        "pages": PAGES,
        "airflow": airflow.url(settings),
        "api": settings.api.url,
        "minutes": MINUTES,
        "headline": headline,
    }

    def page(template: str, at: str, view: View | None, status: int = 200, **values: Any) -> HTMLResponse:
        text = made.get_template(template).render(at=at, view=view, now=clock(), **values)
        if view:
            drawn.set(view.batch_id)
        return HTMLResponse(text, status, NO_STORE)

    @app.exception_handler(PtsError)
    def failed(request: Request, error: PtsError) -> HTMLResponse:
        status = STATUSES.get(type(error), 500)
        return page("problem.html", request.url.path, None, status, problem=printable(str(error)))

    @app.exception_handler(RequestValidationError)
    def invalid(request: Request, _error: RequestValidationError) -> HTMLResponse:
        return page("problem.html", request.url.path, None, 422, problem="That is not what this page can be asked.")

    @app.exception_handler(HTTPException)
    def unknown(request: Request, error: HTTPException) -> HTMLResponse:
        return page("problem.html", request.url.path, None, error.status_code, problem=str(error.detail))

    @app.get("/")
    def now() -> Response:
        with view_of_ledger(root) as view:
            return page("now.html", "/", view, found=now_page(view, settings, lags, clock()))

    @app.get("/packages")
    def asked(number: str = "") -> Response:
        digits = number.strip()
        return RedirectResponse(f"/packages/{digits if digits.isascii() and digits.isdigit() else 0}", 303)

    @app.get("/packages/{number}")
    def one(number: int, repeats: bool = False) -> Response:
        if not 0 < number < 1 << 63:
            raise InvalidInput("A tracking number has digits only, and is between 1 and 2^63 - 1.")
        with view_of(root, package.READ_FOR_REPEATS if repeats else package.READ) as view:
            found = package.package_page(view, number, settings.kafka.ship_events_format if repeats else None)
            return page("package.html", "/packages", view, found=found, effect=package.effect)

    @app.get("/places")
    def busy(window: datetime | None = None) -> Response:
        with view_of(root, places.READ) as view:
            return page("places.html", "/places", view, found=places.places_page(view, window))

    @app.get("/quarantine")
    def rejected(reason: Reason | None = None) -> Response:
        with view_of(root, quarantine.READ) as view:
            return page("quarantine.html", "/quarantine", view, found=quarantine.quarantine_page(view, reason))

    @app.get("/batches")
    def ledger(last: Annotated[int | None, Query(ge=0, lt=1 << 63)] = None) -> Response:
        with view_of_ledger(root) as view:
            return page("batches.html", "/batches", view, found=batches.batches_page(view, last))

    @app.get("/batches/{batch_id}")
    def batch(batch_id: Annotated[int, PathParameter(ge=0, lt=1 << 63)]) -> Response:
        with view_of_ledger(root) as view:
            return page("batch.html", "/batches", view, found=batches.batch_page(view, batch_id))

    @app.get("/history")
    def corrections() -> Response:
        with view_of_ledger(root) as view:
            return page("history.html", "/history", view, found=history.history_page(view, settings))

    @app.get("/metrics")
    def measured() -> Response:
        return Response(exposition(registry), media_type=CONTENT_TYPE, headers=NO_STORE)

    @app.get("/static/{name:path}")
    def file(name: str) -> Response:
        if name not in static:
            raise HTTPException(404, "Not Found")
        return Response(static[name], media_type=STATIC[name], headers={"Cache-Control": "max-age=300"})

    return app


def _text(value: Any) -> str:
    """What a record says, on one line, without characters that turn or hide what follows."""
    return "" if value is None else printable(masked(str(value)), LONGEST_TEXT)


def _moment(value: datetime | str | None) -> str:
    return "" if value is None else f"{iso_utc(value)[:19].replace('T', ' ')}"


def _points(chart: Chart) -> list[tuple[float, ...]]:
    found = asdict(chart)
    return [found["times"], found["values"]]
