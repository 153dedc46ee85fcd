"""Errors as problem details, RFC 9457: one JSON form for all of them."""

import math
from typing import Annotated, Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

MEDIA_TYPE = "application/problem+json"


class ProblemDetails(BaseModel):
    """What went wrong, and what to do."""

    type: Annotated[str, Field(examples=["urn:pts:problem:unknown-package"])]
    title: Annotated[str, Field(examples=["Unknown package"])]
    status: Annotated[int, Field(examples=[404])]
    detail: Annotated[str, Field(examples=["No report of package 42 is known. It may come with its first scan."])]


class Problem(Exception):
    """An answer that tells of an error. `kind` is what programs tell it by; `retry_after` are seconds."""

    def __init__(self, status: int, kind: str, title: str, detail: str, retry_after: float | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.kind = kind
        self.title = title
        self.detail = detail
        self.retry_after = retry_after

    @property
    def headers(self) -> dict[str, str]:
        return {} if self.retry_after is None else {"Retry-After": str(max(1, math.ceil(self.retry_after)))}

    def response(self) -> JSONResponse:
        content = {
            "type": f"urn:pts:problem:{self.kind}",
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        return JSONResponse(content, self.status, self.headers, MEDIA_TYPE)


def unknown_package(number: int) -> Problem:
    return Problem(
        404,
        "unknown-package",
        "Unknown package",
        f"No report of package {number} is known. It may come with its first scan.",
    )


def not_a_number() -> Problem:
    return Problem(422, "invalid-request", "Invalid request", "trackingNumber: a whole number from 1 to 2^63 - 1")


def not_ready(why: str) -> Problem:
    return Problem(503, "not-ready", "Not ready", why, retry_after=5)


def unreadable(number: int) -> Problem:
    return Problem(
        503,
        "unreadable-report",
        "Unreadable report",
        f"The last message about package {number} is no report. The next one mends it.",
        retry_after=60,
    )


def not_yet(position: str) -> Problem:
    return Problem(
        503,
        "not-yet",
        "Not yet",
        f"The report is not at least as new as {position} yet. A scan that changes nothing (a duplicate, a late or a "
        "rejected one) never shows in it.",
        retry_after=1,
    )


def add_to(app: FastAPI) -> None:
    """Has all errors answered in the one form."""

    @app.exception_handler(Problem)
    async def of_ours(_request: Request, problem: Problem) -> JSONResponse:
        return problem.response()

    @app.exception_handler(RequestValidationError)
    async def of_a_value(_request: Request, error: RequestValidationError) -> JSONResponse:
        faults = "; ".join(f"{fault['loc'][-1]}: {fault['msg']}" for fault in error.errors())
        return Problem(422, "invalid-request", "Invalid request", faults).response()

    @app.exception_handler(HTTPException)
    async def of_http(_request: Request, error: HTTPException) -> JSONResponse:
        found = Problem(error.status_code, "http", str(error.detail), str(error.detail)).response()
        found.headers.update(error.headers or {})
        return found

    @app.exception_handler(Exception)
    async def of_a_defect(_request: Request, _error: Exception) -> JSONResponse:
        return Problem(500, "defect", "Internal error", "This is a defect; the log has it.").response()


def documented(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What OpenAPI is to say of answers that tell of errors."""
    schema = {"$ref": "#/components/schemas/ProblemDetails"}
    told = {
        404: "No report of the package is known.",
        422: "A parameter is not what it must be.",
        429: "This client asks too often, or has too many streams.",
        503: "Not now: not ready, not yet as new as asked for, or too many requests in all.",
    }
    return {status: {"description": told[status], "content": {MEDIA_TYPE: {"schema": schema}}} for status in statuses}
