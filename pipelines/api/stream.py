"""A package's reports as server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""

import asyncio
import random
import re
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from pipelines.api.hub import Hub
from pipelines.api.report import Entry

HEARTBEAT_SECONDS = 15.0
SEND_SECONDS = 30.0
"""The connection of a client that takes nothing for so long is closed."""

RETRY_MS = 1_000, 5_000
"""When clients come again whose stream ended: not all at once."""


SEEN = re.compile(r"(.*)@([0-9]{1,18})", re.ASCII)


class EventStream(StreamingResponse):
    """Events as they come, to one client. `held` is released at the end."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterator[bytes], held: ExitStack) -> None:
        super().__init__(content, headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"})
        self._held = held

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._held:
            await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        async def in_time(message: dict[str, object]) -> None:
            async with asyncio.timeout(SEND_SECONDS):
                await send(message)

        try:
            await super().stream_response(in_time)  # type: ignore[arg-type]
        except TimeoutError:
            return


def event_id(topic_id: str, entry: Entry) -> str:
    """What a client says to go on after an event: the topic, and the event's place on it."""
    return f"{topic_id}/{entry.partition}@{entry.offset}"


def is_news(topic_id: str, entry: Entry, seen: str | None) -> bool:
    """Whether an entry comes after the event with an id: also where that is of another partition or topic."""
    found = SEEN.fullmatch(seen or "")
    return not (found and found[1] == f"{topic_id}/{entry.partition}" and entry.offset <= int(found[2]))


async def events(
    number: int,
    seen: str | None,
    hub: Hub,
    entry_now: Callable[[int], Entry | None],
    is_ready: Callable[[], bool],
) -> AsyncIterator[bytes]:
    """The package's report, if the client has not seen it, and each later one, until nobody can vouch for it any more.

    Of reports that come faster than the client takes them, it gets the last.
    """
    yield f"retry: {random.randint(*RETRY_MS)}\n\n".encode()
    if not is_ready():
        return
    with hub.watched(number) as watcher:
        entry = entry_now(number)
        while is_ready() and not hub.is_closed:
            if entry and is_news(hub.topic_id, entry, seen):
                if entry.kind == "unreadable":
                    return
                seen = event_id(hub.topic_id, entry)
                yield _event(entry, number, seen)
                if entry.kind == "gone":
                    return
            elif not entry:
                yield b":\n\n"
            entry = await watcher.next(HEARTBEAT_SECONDS)


def _event(entry: Entry, number: int, id_: str) -> bytes:
    data = entry.placed if entry.kind == "report" else f'{{"trackingNumber":{number}}}'.encode()
    return b"event: %b\nid: %b\ndata: %b\n\n" % (entry.kind.encode(), id_.encode(), data)
