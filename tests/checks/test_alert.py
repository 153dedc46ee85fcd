"""Word reaches those who are on call, once."""

import json
import os
import socketserver
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from pipelines.checks import alert
from pipelines.checks.alert import place, run
from pipelines.cli import operations
from pipelines.commands import Alert
from pipelines.errors import AlertFailed, InvalidInput
from pipelines.processes import pid_lock
from pipelines.secret import SecretAddress
from pipelines.settings import Alerts, Settings
from tests.ports import unused_ports

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
DOWN = Alert(subject="watch_stream failed", text="The job is silent.")


@contextmanager
def serving(server: socketserver.TCPServer) -> Iterator[int]:
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def settings(home: Path, to: str = "log", **more: object) -> Settings:
    return Settings(home=home, alerts=Alerts.model_validate({"to": to, **more}))


def test_log_gets_a_line_that_a_program_can_read(tmp_path: Path) -> None:
    assert run(DOWN, settings(tmp_path), NOON)
    (line,) = (tmp_path / "logs" / "alerts.log").read_text().splitlines()
    assert json.loads(line) == {"at": "2026-01-01T12:00:00+00:00", "subject": DOWN.subject, "text": DOWN.text}


def test_fault_that_lasts_is_told_once_an_hour_and_another_one_at_once(tmp_path: Path) -> None:
    minutes = [minute for minute in range(0, 130, 5) if run(DOWN, settings(tmp_path), NOON + timedelta(minutes=minute))]
    assert minutes == [0, 60, 120]
    assert run(Alert(subject="another"), settings(tmp_path), NOON + timedelta(minutes=130))


def test_same_fault_is_known_by_its_words_whatever_its_numbers(tmp_path: Path) -> None:
    said = [
        Alert(subject="watch_stream failed", text=text)
        for text in (
            "lag_records is 12,345. Run scheduled__2026-01-01T00:05:00+00:00",
            "lag_records is 1.2e+06. Run scheduled__2026-01-01T00:10:00+00:00",
            "heartbeat_seconds is 61. Run scheduled__2026-01-01T00:15:00+00:00",
        )
    ]
    assert [run(alert, settings(tmp_path), NOON) for alert in said] == [True, False, True]


def test_alerts_at_one_time_are_sent_once_and_remembered_all(tmp_path: Path) -> None:
    alerts = [Alert(subject=f"task {letter} failed") for letter in "abcdefgh"] * 3
    with ThreadPoolExecutor(len(alerts)) as pool:
        sent = list(pool.map(lambda alert: run(alert, settings(tmp_path), NOON), alerts))
    assert sum(sent) == len((tmp_path / "logs" / "alerts.log").read_text().splitlines()) == 8
    assert not any(run(alert, settings(tmp_path), NOON) for alert in alerts)


def test_alert_that_others_hold_up_is_an_error_that_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alert, "PATIENCE_SECONDS", 0)
    (tmp_path / "run").mkdir()
    handle = pid_lock.lock(tmp_path / "run" / "alerts.lock")
    with pytest.raises(AlertFailed, match=rf"process {os.getpid()} still sends"):
        run(DOWN, settings(tmp_path), NOON)
    os.close(handle)
    assert run(DOWN, settings(tmp_path), NOON)


@pytest.mark.parametrize("text", ["", '{"a": "2026', "[]", '{"a": 1}', '{"a": "2026-01-01T12:00:00"}', "\xff"])
def test_memory_that_says_nothing_holds_nothing_back(text: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "alerts.json").write_bytes(text.encode("latin-1"))
    assert run(DOWN, settings(tmp_path), NOON)
    assert not run(DOWN, settings(tmp_path), NOON)


def test_webhook_gets_a_json_object_and_the_terminal_its_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    got: list[bytes] = []

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with serving(HTTPServer(("127.0.0.1", 0), Hook)) as port:
        monkeypatch.setenv("PTS_HOME", str(tmp_path))
        monkeypatch.setenv("PTS_ALERTS__TO", f"http://127.0.0.1:{port}/hook/s3cret")
        operations.alert(subject=DOWN.subject, text=DOWN.text, always=False)
    assert json.loads(got[0])["text"] == DOWN.text
    assert capsys.readouterr().out == f"Sent to http://127.0.0.1:{port}.\n"


def test_e_mail_has_the_subject_and_the_text(tmp_path: Path) -> None:
    got: list[str] = []

    class Smtp(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            is_data = False
            while line := self.rfile.readline().decode():
                if is_data:
                    got.append(line)
                    is_data = line != ".\r\n"
                    if not is_data:
                        self.wfile.write(b"250 taken\r\n")
                elif line.upper().startswith("DATA"):
                    is_data = True
                    self.wfile.write(b"354 go on\r\n")
                elif line.upper().startswith("QUIT"):
                    self.wfile.write(b"221 bye\r\n")
                    return
                else:
                    self.wfile.write(b"250 fine\r\n")

    with serving(socketserver.TCPServer(("127.0.0.1", 0), Smtp)) as port:
        assert run(DOWN, settings(tmp_path, "mailto:oncall@example.org", smtp=f"127.0.0.1:{port}"), NOON)
    assert "To: oncall@example.org\r\n" in got
    assert "Subject: watch_stream failed\r\n" in got
    assert "The job is silent.\r\n" in got


def test_alert_that_reaches_nobody_is_an_error_and_in_the_log_and_is_tried_again(tmp_path: Path) -> None:
    nobody = settings(tmp_path, f"http://127.0.0.1:{unused_ports()[0]}/hook")
    for _ in range(2):
        with pytest.raises(AlertFailed, match=r"watch_stream failed.*did not reach.*The job is silent"):
            run(DOWN, nobody, NOON)
    logged = map(json.loads, (tmp_path / "logs" / "alerts.log").read_text().splitlines())
    assert [line["text"] for line in logged] == [DOWN.text, DOWN.text]


def test_answer_that_is_no_http_is_an_error_without_the_webhooks_secret(tmp_path: Path) -> None:
    class Rude(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.request.recv(65_536)
            self.wfile.write(b"what?\r\n\r\n")

    with (
        serving(socketserver.TCPServer(("127.0.0.1", 0), Rude)) as port,
        pytest.raises(AlertFailed, match=f"did not reach http://127.0.0.1:{port}: BadStatusLine") as told,
    ):
        run(DOWN, settings(tmp_path, f"http://127.0.0.1:{port}/hook/s3cret"), NOON)
    assert "s3cret" not in str(told.value)


def test_webhook_with_a_password_is_an_error_without_it(tmp_path: Path) -> None:
    with pytest.raises(AlertFailed, match=r"did not reach http://127\.0\.0\.1: InvalidURL") as told:
        run(DOWN, settings(tmp_path, "http://me:s3cret@127.0.0.1/hook"), NOON)
    assert "s3cret" not in str(told.value)


@pytest.mark.parametrize(
    ("to", "shown"),
    [
        ("log", "log"),
        ("mailto:oncall@example.org", "mailto:oncall@example.org"),
        ("https://hooks.example.org:444/T1/s3cret?token=s3cret", "https://hooks.example.org:444"),
        ("https://me:s3cret@example.org/", "https://example.org"),
    ],
)
def test_place_is_shown_without_what_lets_one_write_there(to: str, shown: str) -> None:
    assert place(to) == shown


def test_place_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="it is neither log nor mailto:"):
        Alerts(to=SecretAddress("pager"))


def test_alert_whose_address_cannot_be_read_is_in_the_log(tmp_path: Path) -> None:
    lost = Settings(home=tmp_path, alerts=Alerts.model_validate({"to_file": tmp_path / "to"}))
    with pytest.raises(InvalidInput, match=r"PTS_ALERTS__TO_FILE=.*to cannot be read"):
        run(DOWN, lost, NOON)
    assert DOWN.subject in (tmp_path / "logs" / "alerts.log").read_text()
