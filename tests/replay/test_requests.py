"""Messages that ask for replays."""

import json
from pathlib import Path

import pytest

from pipelines.commands import Requests
from pipelines.contracts.control import ReplayRequest
from pipelines.io.kafka.consumer import Message
from pipelines.replay import requests
from pipelines.settings import Settings


def asked(monkeypatch: pytest.MonkeyPatch, *values: bytes | None) -> list[ReplayRequest]:
    held = [Message(0, offset, value) for offset, value in enumerate(values)]
    monkeypatch.setattr(requests, "topic_states", lambda _servers, names: dict.fromkeys(names))
    monkeypatch.setattr(requests, "messages", lambda _servers, _topic: held)
    return requests.run(Requests(), Settings(home=Path("nowhere")))


def test_request_becomes_a_run_that_is_named_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    (request,) = asked(monkeypatch, b'{"requestId": "fix-7", "fence": 3, "expect": ["gold.x"], "dryRun": false}')
    assert requests.as_run(request) == {
        "trigger_run_id": "control-fix-7",
        "conf": {"fence": 3, "expect": ["gold.x"], "dry_run": False},
    }


def test_request_that_is_delivered_again_is_one_and_its_first_message_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = b'{"requestId": "a", "fence": 1}', b'{"requestId": "a", "fence": 2}'
    (request,) = asked(monkeypatch, first, first, second)
    assert request.fence == 1


def test_request_only_plans_unless_it_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    (request,) = asked(monkeypatch, b'{"requestId": "a"}')
    assert request.dry_run


@pytest.mark.parametrize(
    "value",
    [
        None, b"", b"\xff", b"[]", b"{}", b'{"requestId": "A b"}', b'{"requestId": "a", "fence": "3"}',
        b'{"requestId": "a", "dryRun": "no"}', b'{"requestId": "a", "tables": []}', b'{"requestId": "a", "fence": -1}',
    ],
)  # fmt: skip
def test_message_that_is_no_request_is_named_and_the_others_are_answered(
    value: bytes | None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = asked(monkeypatch, value, b'{"requestId": "good"}')
    assert [request.request_id for request in found] == ["good"]
    assert "pts: warning: pts-control/0 offset 0 is no request: " in capsys.readouterr().err


def test_message_cannot_steer_the_log_nor_fill_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = {"requestId": "a", "\x1b[2J\npts: all is well " + "x" * 100_000: 1}
    assert asked(monkeypatch, json.dumps(strange).encode(), json.dumps(strange, ensure_ascii=False).encode()) == []
    told = capsys.readouterr().err
    assert "\x1b" not in told
    assert [line[:12] for line in told.splitlines()] == ["pts: warning"] * 2
    assert len(told) < 1_000


@pytest.mark.parametrize(
    "expected", ["gold.x\n", "gold", "{{ conn }}", "a.b.c.d", "\x1b.x", "gold." + "x" * 300, "--html"]
)
def test_request_declares_tables_and_columns_and_nothing_else(expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert asked(monkeypatch, json.dumps({"requestId": "a", "expect": [expected]}).encode()) == []
    (request,) = asked(monkeypatch, b'{"requestId": "a", "expect": ["gold.stop_activity.scan_count"]}')
    assert request.expect == ["gold.stop_activity.scan_count"]
