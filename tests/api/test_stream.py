"""Server-sent events: what a client gets, and what it does not get twice."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pipelines.api import stream
from pipelines.api.report import Entry
from pipelines.api.stream import EventStream, events, is_news
from tests.api.makers import TOPIC, Stand, entry, message, stand, tombstone
from tests.waiting import becomes


def given(made: Stand, seen: str | None, *steps: Callable[[], object]) -> list[str]:
    """What a stream gives, each step taken when it has nothing more to give; it is closed after the last."""

    async def listen() -> list[str]:
        told = events(42, seen, made.hub, made.store.entry, lambda: made.freshness.why_not() is None)
        found: list[str] = []
        listener = asyncio.create_task(_into(found, told))
        for step in (*steps, made.hub.close):
            for _ in range(10):
                await asyncio.sleep(0)
            step()
        await asyncio.wait_for(listener, 5)
        return found

    return asyncio.run(listen())


async def _into(found: list[str], told: AsyncIterator[bytes]) -> None:
    async for chunk in told:
        found += [line for line in chunk.decode().split("\n") if line.startswith(("event:", "id:", ":"))]


def comes(made: Stand, *messages: object) -> Callable[[], None]:
    def step() -> None:
        made.topic.add(*messages)  # type: ignore[arg-type]
        made.read()

    return step


def shown(offset: int, kind: str = "report") -> list[str]:
    return [f"event: {kind}", f"id: {TOPIC}/0@{offset}"]


def test_stream_begins_with_the_report_and_goes_on_with_each_later_one(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:
        assert given(made, None, comes(made, message(4, stop=10)), comes(made, message(5, 7), message(6, stop=11))) == [
            *shown(3),
            *shown(4),
            *shown(6),
        ]


def test_event_is_a_report_with_its_id(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:

        async def first() -> bytes:
            told = events(42, None, made.hub, made.store.entry, lambda: True)
            await anext(told)
            return await anext(told)

        assert asyncio.run(first()) == b"event: report\nid: %b/0@3\ndata: %b\n\n" % (TOPIC.encode(), entry(3).placed)


def test_client_that_comes_again_gets_what_it_missed_and_nothing_twice(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:
        assert given(made, f"{TOPIC}/0@3") == []
    with stand(tmp_path, message(3), message(4, stop=10), message(5, stop=11)) as made:
        assert given(made, f"{TOPIC}/0@3") == shown(5)


def test_client_that_has_seen_more_than_this_server_gets_nothing_older(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:
        assert given(
            made, f"{TOPIC}/0@9", comes(made, message(4, stop=10)), comes(made, message(10, stop=11))
        ) == shown(10)


def test_repeat_is_no_event(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:
        assert given(made, None, comes(made, message(4)), comes(made, message(5, 7))) == shown(3)


@pytest.mark.parametrize("seen", ["another/0@9", f"{TOPIC}/1@9", "x", f"{TOPIC}/0@", f"{TOPIC}/0@٩", "9" * 200, "@"])
def test_id_of_another_log_or_none_is_answered_by_the_report(seen: str) -> None:
    assert is_news(TOPIC, entry(3), seen)


def test_reports_that_come_faster_than_they_are_taken_are_left_out_but_for_the_last(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:

        def burst() -> None:
            comes(made, message(4, stop=10))()
            comes(made, message(5, stop=11))()

        assert given(made, None, burst) == [*shown(3), *shown(5)]


def test_report_that_is_deleted_ends_the_stream(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:
        assert given(made, None, comes(made, tombstone(4)), comes(made, message(5))) == [
            *shown(3),
            *shown(4, "gone"),
        ]


def test_stream_ends_when_nobody_can_vouch_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "HEARTBEAT_SECONDS", 0.001)
    with stand(tmp_path, message(3)) as made:

        async def listen() -> list[str]:
            found: list[str] = []
            told = events(42, None, made.hub, made.store.entry, lambda: made.freshness.why_not() is None)
            listener = asyncio.create_task(_into(found, told))
            await asyncio.sleep(0.05)
            assert not listener.done()
            made.freshness.lost()
            await asyncio.wait_for(listener, 5)
            return found

        found = asyncio.run(listen())
    assert found[:2] == shown(3)
    assert set(found[2:]) == {":"}, "silence is filled, so that a lost connection is noticed"


def test_stream_does_not_begin_with_what_the_store_held_while_it_was_filled(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:
        made.freshness.lost()

        def entry_meanwhile(number: int) -> Entry | None:
            made.freshness.whole(made.clock())
            return made.store.entry(number)

        async def listen() -> list[str]:
            found: list[str] = []
            told = events(42, None, made.hub, entry_meanwhile, lambda: made.freshness.why_not() is None)
            await asyncio.wait_for(_into(found, told), 5)
            return found

        assert asyncio.run(listen()) == []


def test_client_that_takes_nothing_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "SEND_SECONDS", 0.01)

    async def never() -> AsyncIterator[bytes]:
        while True:
            yield b":\n\n"

    async def stuck(_message: object) -> None:
        await asyncio.sleep(60)

    held = ExitStack()
    apply_expiry: list[bool] = []
    held.callback(apply_expiry.append, True)

    async def receive() -> dict[str, object]:
        await asyncio.sleep(60)
        return {}

    scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
    asyncio.run(asyncio.wait_for(EventStream(never(), held)(scope, receive, stuck), 5))
    assert apply_expiry == [True]


@pytest.mark.parametrize(
    ("query", "headers", "expected"),
    [
        ("", [], shown(3)),
        ("", [(b"last-event-id", f"{TOPIC}/0@3".encode())], []),
        (f"lastEventId={TOPIC}/0@3", [], []),
        (f"lastEventId={TOPIC}/0@9", [(b"last-event-id", f"{TOPIC}/0@2".encode())], shown(3)),
    ],
)
def test_last_event_id_is_a_header_or_a_parameter(
    query: str, headers: list[tuple[bytes, bytes]], expected: list[str], tmp_path: Path
) -> None:
    with stand(tmp_path, message(3)) as made:
        scope = {
            **{"type": "http", "method": "GET", "scheme": "http", "http_version": "1.1", "asgi": {"version": "3.0"}},
            **{"path": "/packages/42/events", "query_string": query.encode(), "headers": headers, "root_path": ""},
            **{"client": ("192.0.2.1", 1), "server": ("x", 80)},
        }
        sent: list[Any] = []

        async def receive() -> dict[str, object]:
            await asyncio.sleep(60)
            return {}

        async def send(part: Any) -> None:
            sent.append(part)

        def text() -> str:
            return b"".join(part.get("body", b"") for part in sent).decode()

        async def listen() -> None:
            answering = asyncio.create_task(made.app(scope, receive, send))
            awaited = ("retry: ", *expected)
            assert await asyncio.to_thread(becomes, lambda: all(line in text() for line in awaited))
            await asyncio.sleep(0.1)  # in which nothing more comes
            made.hub.close()
            await asyncio.wait_for(answering, 5)

        asyncio.run(listen())
    told = dict(sent[0]["headers"])
    assert (sent[0]["status"], told[b"content-type"]) == (200, b"text/event-stream; charset=utf-8")
    assert (told[b"cache-control"], told[b"x-content-type-options"]) == (b"no-store", b"nosniff")
    assert text().startswith("retry: ")
    assert [line for line in text().split("\n") if line.startswith(("event:", "id:"))] == expected
