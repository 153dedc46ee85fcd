"""The pages: for the person who waits for a package, in English and German, and what the API is like for programs."""

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from pipelines.api.problems import Problem, not_a_number
from pipelines.api.report import Entry, number_in
from pipelines.api.stream import event_id
from pipelines.api.texts import LANGUAGES, Texts, language_of
from pipelines.errors import printable
from pipelines.web.templates import templates

FOLDER = Path(__file__).parent
STATIC = {"track.css": "text/css", "track.js": "text/javascript"}
LONGEST_STATUS = 40
RELOAD_SECONDS = 15
"""How often a browser without JavaScript asks again."""

Language = Annotated[str | None, Query(alias="lang")]

TEMPLATES = templates(FOLDER / "templates")


def add_to(app: FastAPI, report: Callable[[int], Entry], topic_id: Callable[[], str]) -> None:
    """Adds the pages. `report` gives a package's report, or raises `Problem`."""
    static = {name: (FOLDER / "static" / name).read_bytes() for name in STATIC}

    @app.get("/", include_in_schema=False)
    async def start(request: Request, lang: Language = None) -> Response:
        return _page("start.html", _texts(request, lang))

    @app.get("/track", include_in_schema=False)
    async def asked(number: str = "", lang: Language = None) -> Response:
        suffix = f"?lang={lang}" if lang in LANGUAGES else ""
        return RedirectResponse(f"/track/{number_in(number.strip()) or 0}{suffix}", 303)

    @app.get("/track/{number}", include_in_schema=False)
    async def track(request: Request, number: str, lang: Language = None) -> Response:
        texts, known = _texts(request, lang), number_in(number.strip())
        try:
            if known is None:
                raise not_a_number()
            entry = report(known)
        except Problem as problem:
            said = texts.problem(problem.status)
            return _page("problem.html", texts, problem.status, problem.headers, number=known, said=said)
        return _page(
            "track.html",
            texts,
            number=known,
            report=shown(json.loads(entry.report), texts),
            events=f"/packages/{known}/events?lastEventId={event_id(topic_id(), entry)}",
            reload_seconds=RELOAD_SECONDS,
        )

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return _page("docs.html", LANGUAGES["en"], schema=app.openapi())

    @app.get("/static/{name}", include_in_schema=False)
    async def file(name: str) -> Response:
        if name not in static:
            raise Problem(404, "http", "Not Found", "Not Found")
        return Response(static[name], media_type=STATIC[name], headers={"Cache-Control": "max-age=300"})


def shown(report: dict[str, Any], texts: Texts) -> dict[str, Any]:
    """What a page says of a report, in words."""
    remaining, current, end = (report[name] for name in ("numberOfRemainingStops", "currentStopId", "endStopId"))
    has_progress = remaining is not None and remaining >= 0 and end > 0
    moment = report["occurredAt"] and datetime.fromisoformat(report["occurredAt"])
    code = report["statusCode"]
    return {
        "headline": texts.headline(remaining, code),
        "status": None if code is None else texts.statuses.get(code) or printable(code, LONGEST_STATUS),
        "stop": None if current is None else texts.stop(current, end),
        "progress": {"value": current, "max": end} if has_progress else None,
        "at": moment and {"machine": report["occurredAt"], "human": texts.moment(moment)},
    }


def _texts(request: Request, lang: str | None) -> Texts:
    return LANGUAGES[lang if lang in LANGUAGES else language_of(request.headers.get("accept-language", ""))]


def _page(
    template: str, texts: Texts, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> HTMLResponse:
    text = TEMPLATES.get_template(template).render(texts=texts, languages=LANGUAGES, **values)
    own = {"Cache-Control": "no-store", "Content-Language": texts.code, "Vary": "Accept-Language"}
    return HTMLResponse(text, status, own | (headers or {}))
