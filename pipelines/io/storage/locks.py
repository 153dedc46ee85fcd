"""Locks of a lake: a file that the kernel locks in a folder, a lease in an object store.

Both name who holds them, and both end with the process: the file's at once, the lease when it has not been renewed for
`LEASE_SECONDS`.
"""

import json
import os
import socket
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from pipelines.lake_root import is_in_store
from pipelines.processes import pid_lock

if TYPE_CHECKING:
    from pipelines.io.storage.objects import Version

LEASE_SECONDS = 12.0
"""After so long without a renewal, a lease is anybody's. Nobody's clock is compared with another's: who waits has seen
the same renewal for so long."""

RENEWED_EVERY_SECONDS = 3.0
POLL_SECONDS = 0.25


_own_tokens = set[str]()
_held = set["_Lease"]()


class Lock(Protocol):
    """A lock that this process holds."""

    @property
    def is_lost(self) -> bool:
        """Whether another process may have it: this one could not renew it in time."""

    def close(self) -> None:
        """Gives the lock back."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lock.

    Attributes:
        name: The process, and in a store its host, for a person.
        note: What it says beside; None where it has not said it yet.
        is_me: Whether it is this process.
    """

    name: str
    note: str | None
    is_me: bool

    def __str__(self) -> str:
        return self.name


def locked(root: str, name: str, note: str = "") -> Lock:
    """The lock of that name, held by this process until it is closed, with a note for others.

    Raises `BlockingIOError` when another process holds it, and `OSError` when it cannot be written. In a store, both
    may take a few seconds: a holder that is alive renews its lease meanwhile.
    """
    if is_in_store(root):
        return _Lease(root, name, note)
    path = Path(root, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    return _FileLock(os.fdopen(pid_lock.lock(path, note), encoding="utf-8"))


def holder(root: str, name: str) -> Holder | None:
    """Who holds the lock; None when nobody does. In a store, each look is a request to it, and the first one of a
    process takes some seconds where there is a lease: one whose process was killed looks like any other.
    """
    if is_in_store(root):
        return _watch(root, name).holder()
    pid, note = pid_lock.holder_and_note(Path(root, name))
    if pid is None:
        return None
    # For an instant, a new holder's file still has the note of the last one, who may have died with it there.
    return Holder(f"process {pid}", note if _is_alive(pid) else None, is_me=pid == os.getpid())


def is_any_lost() -> bool:
    """Whether another process may have a lock that this one holds."""
    return any(lease.is_lost for lease in tuple(_held))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class _FileLock:
    is_lost = False

    def __init__(self, file: TextIOWrapper) -> None:
        self._file = file

    def close(self) -> None:
        self._file.close()


@dataclass(frozen=True)
class _Term:
    """What the object of a lease says.

    Attributes:
        holder: Who has it, for a person; None once it was given back.
        note: What the holder says beside.
        token: Tells this term from every other.
        renewals: How often it was renewed.
    """

    holder: str | None
    note: str = ""
    token: str = field(default_factory=lambda: uuid.uuid4().hex)
    renewals: int = 0

    @classmethod
    def parse(cls, content: bytes) -> Self:
        return cls(**json.loads(content))

    def __bytes__(self) -> bytes:
        return json.dumps(vars(self)).encode()


class _Lease:
    """A lease that a thread of its own renews until it is closed."""

    def __init__(self, root: str, name: str, note: str) -> None:
        from pipelines.io.storage.objects import ObjectFiles

        self._files, self._name = ObjectFiles(root), name
        _check_conditions(root)
        self._term = _Term(_me(), note)
        self._tag = self._taken()
        _own_tokens.add(self._term.token)
        self._renewed_at = time.monotonic()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._renew, name=f"lease {name}", daemon=True)
        self._thread.start()
        _held.add(self)

    @property
    def is_lost(self) -> bool:
        return time.monotonic() - self._renewed_at > LEASE_SECONDS

    def close(self) -> None:
        _held.discard(self)
        self._closed.set()
        self._thread.join()
        with suppress(OSError):  # then it ends by itself
            self._files.put(self._name, bytes(_Term(None)), self._tag)

    def _taken(self) -> str:
        watch, seen = _watch(self._files.root, self._name), ""
        while True:
            version, is_free = watch.look()
            if version and not is_free:
                if seen not in ("", version.tag):
                    raise BlockingIOError
                seen = version.tag
            if is_free and (tag := self._files.put(self._name, bytes(self._term), version.tag if version else None)):
                return tag
            time.sleep(POLL_SECONDS)

    def _renew(self) -> None:
        while not self._closed.wait(RENEWED_EVERY_SECONDS):
            self._term = replace(self._term, renewals=self._term.renewals + 1)
            asked_at = time.monotonic()
            try:
                tag = self._files.put(self._name, bytes(self._term), self._tag)
            except OSError:  # tried again; whether it was lost meanwhile, the time tells
                continue
            if tag is None:  # it is another's
                return
            self._tag, self._renewed_at = tag, asked_at


class _Watch:
    """A lease as somebody else sees it, who looks now and then."""

    def __init__(self, root: str, name: str) -> None:
        from pipelines.io.storage.objects import ObjectFiles

        self._files, self._name = ObjectFiles(root), name
        self._tag: str | None = None
        self._since = 0.0
        self._is_news = False
        """Whether what it has seen last was written since its first look."""

    def look(self) -> "tuple[Version | None, bool]":
        """What the object says, and whether the lease is anybody's."""
        version = self._files.version(self._name)
        tag = version.tag if version else ""
        if tag != self._tag:
            self._is_news = self._tag is not None
            self._tag, self._since = tag, time.monotonic()
        if version is None:
            return None, True
        has_run_out = time.monotonic() - self._since > LEASE_SECONDS
        return version, has_run_out or _Term.parse(version.content).holder is None

    def holder(self) -> Holder | None:
        """Whose term runs; None when none does. What the first look finds may be of a process that has gone: it looks
        until that is renewed, or has run out.
        """
        while True:
            version, is_free = self.look()
            if version is None or is_free:
                return None
            term = _Term.parse(version.content)
            is_me = term.token in _own_tokens
            if is_me or self._is_news:
                return Holder(str(term.holder), term.note, is_me)
            time.sleep(POLL_SECONDS)


@cache
def _check_conditions(root: str) -> None:
    """Asked once: a store that keeps to them goes on to."""
    from pipelines.io.storage.objects import ObjectFiles

    ObjectFiles(root).check_conditions()


@cache
def _watch(root: str, name: str) -> _Watch:
    return _Watch(root, name)


def _me() -> str:
    return f"process {os.getpid()} on {socket.gethostname()}"
