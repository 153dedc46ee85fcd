"""One writing request at a time in Airflow's API server, where its database is SQLite."""

import asyncio
from typing import Any

from airflow.configuration import conf
from airflow.plugins_manager import AirflowPlugin
from starlette.types import ASGIApp, Receive, Scope, Send

READING = {"GET", "HEAD", "OPTIONS"}


class OneWriter:
    """ASGI middleware: a request that may write waits until the one before has been answered.

    Airflow writes who asked for what, and commits it, on the thread of its event loop (`action_logging` of Airflow
    3.3). A request that has written waits for that loop before it commits. On SQLite, which has one writer, the two
    would wait for each other until one loses its patience, and no other request would be answered meanwhile.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in READING:
            await self._app(scope, receive, send)
            return
        async with self._turn:
            await self._app(scope, receive, send)


class OneWriterPlugin(AirflowPlugin):
    """Found by Airflow in its plugins' folder."""

    name = "one_writer"
    fastapi_root_middlewares: list[dict[str, Any]] = (
        [{"middleware": OneWriter, "name": "one writer"}]
        if conf.get_mandatory_value("database", "sql_alchemy_conn").startswith("sqlite")
        else []
    )
