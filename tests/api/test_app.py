"""What is answered to programs."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from pipelines.api.report import EXAMPLE, Entry, Position
from pipelines.errors import AccessRefused, InvalidInput
from pipelines.web.headers import HEADERS
from tests.api.makers import Stand, entry, message, stand, tombstone


def asked(made: Stand, path: str, **headers: str) -> Any:
    return TestClient(made.app, raise_server_exceptions=False).get(path, headers=headers, follow_redirects=False)


def problem(answer: Any) -> tuple[int, str]:
    """Status and kind of a problem, whose form is checked."""
    assert answer.headers["content-type"] == "application/problem+json"
    told = answer.json()
    assert set(told) == {"type", "title", "status", "detail"}
    assert told["status"] == answer.status_code
    assert all(told.values())
    return answer.status_code, told["type"].removeprefix("urn:pts:problem:")


def test_report_is_what_the_message_says_with_its_position(tmp_path: Path) -> None:
    with stand(tmp_path, message(88)) as made:
        answer = asked(made, "/packages/42")
    assert answer.status_code == 200
    assert answer.json() == EXAMPLE | {"position": "package-reports/0@88"}
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("path", ["/packages/{}", "/packages/{}/events"])
def test_package_that_nobody_knows_is_404_and_no_number_422(path: str, tmp_path: Path) -> None:
    with stand(tmp_path, message(0), tombstone(1), message(2, 7)) as made:
        assert problem(asked(made, path.format("42"))) == (404, "unknown-package")
        for number in ("0", "-1", "x", "4_2", "%2042", "1.0", str(2**63), "9" * 5000, "%D9%A4", "NaN"):
            assert problem(asked(made, path.format(number))) == (422, "invalid-request"), number
        assert problem(asked(made, "/packages/")) == (404, "http")
        assert problem(TestClient(made.app).post("/packages/7")) == (405, "http")
        assert asked(made, f"/packages/{2**63 - 1}").status_code == 404


def test_nothing_is_shown_that_nobody_can_vouch_for(tmp_path: Path) -> None:
    with stand(tmp_path, message(0)) as made:
        assert asked(made, "/readyz").json() == {"status": "ready"}
        for make_it_so in (made.freshness.lost, lambda: made.freshness.failed(AccessRefused("secret words"))):
            make_it_so()
            for path in ("/readyz", "/packages/42", "/packages/42/events", "/packages/43"):
                answer = asked(made, path)
                assert problem(answer) == (503, "not-ready")
                assert int(answer.headers["retry-after"]) > 0
                assert "secret" not in answer.text
            assert asked(made, "/healthz").json() == {"status": "ok"}
            made.read()
        assert asked(made, "/packages/42").status_code == 200


@pytest.mark.parametrize("path", ["/packages/42", "/packages/42/events", "/packages/43", "/track/42"])
@pytest.mark.parametrize("is_whole_before", [True, False])
def test_what_the_store_held_while_it_was_filled_is_not_shown(
    is_whole_before: bool, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be emptied just before it is read, and complete just after that: it then had an older report."""
    with stand(tmp_path, message(0)) as made:
        read = made.store.entry

        def entry_meanwhile(number: int) -> Entry | None:
            found = read(number)
            made.freshness.lost() if is_whole_before else made.freshness.whole(made.clock())
            return found

        monkeypatch.setattr(made.store, "entry", entry_meanwhile)
        made.hub.close()
        if not is_whole_before:
            made.freshness.lost()
        assert asked(made, path).status_code == 503


def test_unreadable_report_is_no_answer(tmp_path: Path) -> None:
    with stand(tmp_path, message(0), message(1, numberOfRemainingStops="x")) as made:
        assert problem(asked(made, "/packages/42")) == (503, "unreadable-report")


@pytest.mark.parametrize(
    ("position", "status"),
    [
        ("package-reports/0@88", 200),
        ("package-reports/0@89", 503),
        ("package-reports/1@0", 503),
        ("package-reports/9@0", 503),
        ("ship-events/2@5113", 200),
        ("ship-events/2@5114", 503),
        ("ship-events/1@0", 503),
        ("ship-routes/2@10", 200),
        ("ship-routes/2@11", 503),
        ("ship-routes/2", 422),
        ("other/2@1", 422),
        ("ship-events/2@-1", 422),
        ("ship-events/2@" + "9" * 30, 422),
        ("", 422),
    ],
)
def test_report_is_at_least_as_new_as_asked_for_or_none(position: str, status: int, tmp_path: Path) -> None:
    with stand(tmp_path, message(88)) as made:
        answer = asked(made, f"/packages/42?atLeast={position}")
    assert answer.status_code == status
    if status == 503:
        assert problem(answer) == (503, "not-yet")
        assert answer.headers["retry-after"] == "1"


def test_report_without_scan_or_route_is_behind_each_position(tmp_path: Path) -> None:
    nothing: dict[str, Any] = dict.fromkeys(["eventKafkaPartition", "eventKafkaOffset", "eventKafkaTimestamp"])
    with stand(tmp_path, message(88, **nothing)) as made:
        assert asked(made, "/packages/42?atLeast=ship-events/2@0").status_code == 503


def test_question_waits_for_the_package_and_its_position(tmp_path: Path) -> None:
    with stand(tmp_path) as made:
        made.wait_seconds = 10

        async def wait() -> int:
            service = made.service
            waiting = asyncio.create_task(service.report_at_least(42, "package-reports/0@3", "192.0.2.1"))
            await asyncio.sleep(0)
            made.topic.add(message(2))
            made.read()
            await asyncio.sleep(0)
            assert not waiting.done()
            made.topic.add(message(3, stop=10))
            made.read()
            return (await waiting).offset

        assert asyncio.run(wait()) == 3


def test_position_that_is_none_is_an_error() -> None:
    assert Position.parse("ship-events/2@5") == Position("ship-events", 2, 5)
    with pytest.raises(InvalidInput):
        Position.parse("ship-events/2@x")


def test_every_answer_has_its_headers(tmp_path: Path) -> None:
    with stand(tmp_path, message(0), client_requests_per_second=0.3) as made:
        client = TestClient(made.app)
        answers = [client.get(path) for path in ("/packages/42", "/readyz", "/packages/42")]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert problem(answers[-1]) == (429, "too-many-requests")
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS


def test_health_is_asked_for_without_limit(tmp_path: Path) -> None:
    with stand(tmp_path, client_requests_per_second=0.1) as made:
        client = TestClient(made.app)
        assert {client.get("/readyz").status_code for _ in range(20)} == {200}


def test_streams_that_are_too_many_are_refused_and_an_ended_one_makes_room(tmp_path: Path) -> None:
    with stand(tmp_path, message(0), client_streams=1) as made, made.limits.stream("testclient"):
        assert problem(asked(made, "/packages/42/events")) == (429, "too-many-streams")
    with stand(tmp_path, message(0), client_streams=1) as made:
        made.hub.close()
        for _ in range(3):
            assert asked(made, "/packages/42/events").status_code == 200


def test_description_has_examples_and_names_each_error(tmp_path: Path) -> None:
    with stand(tmp_path) as made:
        told = asked(made, "/openapi.json").json()
        page = asked(made, "/docs").text
    responses = told["paths"]["/packages/{trackingNumber}"]["get"]["responses"]
    assert set(responses) == {"200", "404", "422", "429", "503"}
    assert responses["200"]["content"]["application/json"]["example"] == EXAMPLE
    assert "HTTPValidationError" not in json.dumps(told)
    assert "ProblemDetails" in told["components"]["schemas"]
    for path in told["paths"]:
        assert path in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page, "it needs no network"
    assert "&#34;trackingNumber&#34;: 42" in page


def test_entry_names_the_scan_behind_it() -> None:
    assert entry(1).is_at_least(Position("ship-events", 2, 5113))
    assert not entry(1).is_at_least(Position("ship-events", 2, 5114))
