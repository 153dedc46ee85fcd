"""`pts alert`: word to those who are on call, into a log, by e-mail, or to a webhook."""

import os
import re
import smtplib
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from http.client import HTTPException
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import AwareDatetime, TypeAdapter

from pipelines.commands import Alert
from pipelines.errors import AlertFailed, InvalidInput
from pipelines.processes import pid_lock
from pipelines.processes.atomic_file import write_whole
from pipelines.settings import Settings
from pipelines.values import json_text

TIMEOUT_SECONDS = 10.0
PATIENCE_SECONDS = 30.0
"""How long an alert waits for others that are being sent."""

NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")
SENT = TypeAdapter(dict[str, AwareDatetime])


def run(command: Alert, settings: Settings, now: datetime | None = None) -> bool:
    """Sends it, unless the same was sent a while ago (`PTS_ALERTS__REPEAT_SECONDS`); whether it did.

    The same is what has this subject and text, but for numbers: readings, run ids and times change while a fault lasts.

    What cannot be delivered is written to the log instead.

    Raises `AlertFailed` when it cannot be delivered; the next call tries again. `InvalidInput` for a file of
    PTS_ALERTS__TO_FILE that says no address.
    """
    now = now or datetime.now(UTC)
    try:
        to = settings.alerts.address()
    except InvalidInput:
        _log(command, settings, now)
        raise
    path = settings.home / "run" / "alerts.json"
    pause = timedelta(seconds=settings.alerts.repeat_seconds)
    fault = NUMBER.sub("", f"{command.subject}\n{command.text}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _one_at_a_time(path.with_suffix(".lock")):
            lately = {what: at for what, at in _sent(path).items() if now - at < pause}
            if fault in lately and not command.always:
                return False
            _send(command, settings, to, now)
            write_whole(path, SENT.dump_json({**lately, fault: now}).decode())
    except (OSError, smtplib.SMTPException, HTTPException) as error:
        # What http.client says may quote the URL.
        reason = type(error).__name__ if isinstance(error, HTTPException) else error
        where = place(to)
        with suppress(OSError):  # the error below has its words, too
            _log(command, settings, now)
        raise AlertFailed(
            f"The alert {command.subject!r} did not reach {where}: {reason}. {command.text}".rstrip()
        ) from error
    return True


def place(to: str) -> str:
    """Where word goes, as it may be shown: of a webhook scheme and host alone. Who knows the rest can write there."""
    url = urlsplit(to)
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}" if url.netloc else to


@contextmanager
def _one_at_a_time(lock: Path) -> Iterator[None]:
    """Raises `TimeoutError` when others take too long."""
    try:
        handle = pid_lock.lock(lock, patience_seconds=PATIENCE_SECONDS)
    except BlockingIOError as error:
        raise TimeoutError(f"process {pid_lock.holder(lock) or 'unknown'} still sends another one") from error
    try:
        yield
    finally:
        os.close(handle)


def _send(command: Alert, settings: Settings, to: str, now: datetime) -> None:
    if to == "log":
        _log(command, settings, now)
    elif to.startswith("mailto:"):
        message = EmailMessage()
        message["Subject"], message["From"] = " ".join(command.subject.split()), settings.alerts.sender
        message["To"] = to.removeprefix("mailto:")
        message.set_content(command.text)
        host, _, port = settings.alerts.smtp.rpartition(":")
        with smtplib.SMTP(host, int(port), timeout=TIMEOUT_SECONDS) as server:
            server.send_message(message)
    else:
        headers = {"Content-Type": "application/json"}
        request = urllib.request.Request(to, _as_json(command, now).encode(), headers, method="POST")
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):
            pass


def _log(command: Alert, settings: Settings, now: datetime) -> None:
    log = settings.home / "logs" / "alerts.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as file:
        file.write(_as_json(command, now) + "\n")


def _as_json(command: Alert, now: datetime) -> str:
    told = {"at": now.isoformat(timespec="seconds"), "subject": command.subject, "text": command.text}
    return json_text(told)


def _sent(path: Path) -> dict[str, datetime]:
    """When each fault was told. A file that says nothing counts as none: better told twice than never."""
    try:
        return SENT.validate_json(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
