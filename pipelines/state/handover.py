"""The hand-over of the writer lease: a command asks, and the live job answers between two batches.

A command asks for the lease, or delegates its work to the job, whose Java is warm. Both messages are files in the lake:
the request is the note in `_request.lock`, and goes with the command; the reply is `_request.answer`. Who reads a
message first looks whether it is of the same code. From a command of other code, or of before there were such messages,
the job understands that it waits, and no more: it gets the lease, and does its work itself.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pipelines.code_version import fingerprint
from pipelines.commands import ReplayPromote
from pipelines.errors import AnotherWriter, PtsError, error_of, warn
from pipelines.io.spark.failures import explained
from pipelines.io.storage.files import files_at
from pipelines.io.storage.locks import holder
from pipelines.lake_root import is_in_store
from pipelines.progress import part
from pipelines.state.exclusion import PATIENCE_SECONDS, POLL_SECONDS, delegated, deleting_files, patiently
from pipelines.state.replay_records import Promoted
from pipelines.state.writer_lease import LEASE, WriterLease, locked, refused

REQUEST, REPLY = "_request.lock", "_request.answer"

WARNING_SECONDS = 60.0
"""How often a live job says that it still waits for the lease."""

LOOKS_APART_SECONDS = 1.0

LOOKS_OF_A_STANDBY = 2
"""So often it finds the lease free before it takes it: the job to which a command gives it back looks sooner."""


class _Sender(BaseModel):
    """The part of a message that all code understands."""

    model_config = ConfigDict(frozen=True)

    request_id: str
    code: str


class HandoverRequest(BaseModel):
    """What a command that waits asks of the live job.

    Attributes:
        request_id: Tells it from every other request.
        code: Fingerprint of the command's code.
        command: What the job is to do in its place; None when the command wants the lease itself.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    request_id: str = Field(default_factory=lambda: uuid.uuid4().hex)
    code: str = Field(default_factory=fingerprint)
    command: ReplayPromote | None = None

    @classmethod
    def parse(cls, note: str) -> Self:
        """From the note in the lock. Of other code, a request for the lease, whatever else it says."""
        try:
            sender = _Sender.model_validate_json(note)
        except ValidationError:
            return cls(request_id=note, code="")
        if sender.code != fingerprint():
            return cls(request_id=sender.request_id, code=sender.code)
        return cls.model_validate_json(note)


class Refusal(BaseModel):
    """Why a delegated command was not done: a `PtsError`, by its exit code."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    exit_code: int
    message: str


class HandoverReply(BaseModel):
    """What came of a delegated command.

    Attributes:
        request_id: That of the request.
        outcome: What was done, or why nothing was.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    request_id: str
    outcome: Promoted | Refusal

    def result(self) -> Promoted:
        """What the job did in place of the command. Raises what the command was refused for."""
        if isinstance(self.outcome, Refusal):
            raise error_of(self.outcome.exit_code)(self.outcome.message)
        return self.outcome


class Handover:
    """The live job's side, which holds the lease."""

    def __init__(self, lease: WriterLease) -> None:
        self._lease = lease
        self._root = lease.lake_root
        self._looked_at = 0.0

    @property
    def request(self) -> HandoverRequest | None:
        """The request of the command that waits; None when none does, or when it has its reply."""
        return waiting_request(self._root)

    def is_time_to_look(self) -> bool:
        """Whether a request may be looked for again: in a store, each look is a request to it."""
        now = time.monotonic()
        if is_in_store(self._root) and now - self._looked_at < LOOKS_APART_SECONDS:
            return False
        self._looked_at = now
        return True

    def check(self) -> None:
        """Raises `AnotherWriter` when the lease ran out."""
        self._lease.check()

    def do(self, request: HandoverRequest, work: Callable[[], Promoted]) -> None:
        """Does the work of a command in its place, and replies; nothing when the command has gone since.

        Raises what has no known cause: then the job ends, and the command that waits does it itself.
        """
        with delegated(self._root):
            if self.request != request:
                return
            outcome: Promoted | Refusal
            try:
                with explained():
                    outcome = work()
            except PtsError as error:
                outcome = Refusal(exit_code=error.exit_code, message=str(error))
            reply = HandoverReply(request_id=request.request_id, outcome=outcome)
            files_at(self._root).write(REPLY, reply.model_dump_json())

    def hand_over(self, stop: threading.Event) -> bool:
        """Gives the lease to the command that asks, and returns when it is back; or, without it, once `stop` is set: a
        command that is frozen would not give it back. Tells whether it is back. Raises `AnotherWriter` as
        `WriterLease.acquire` does.
        """
        self._lease.release()
        began = warned = time.monotonic()
        while not stop.is_set():
            try:
                if not self.request:
                    self._lease.acquire()
                    return True
            except AnotherWriter:
                if not self.request:
                    raise
            stop.wait(POLL_SECONDS)
            if (now := time.monotonic()) - warned >= WARNING_SECONDS:
                warned = now
                other = holder(self._root, REQUEST) or "a process"
                warn(f"The job waits for {other}: it has had the lake for {now - began:.0f} s.")
        return False


def stand_by(lease: WriterLease, stop: threading.Event, rehearse: Callable[[], None]) -> bool:
    """Takes the lease when nobody has it, nor asks for it; tells whether it did, or `stop` was set before. Where
    somebody does, `rehearse` is called once, and then it says that it stands by.

    Raises as `rehearse`, and as `WriterLease.acquire`, but for a lease that is another's.
    """
    root, free, told = lease.lake_root, 0, False
    while not stop.is_set():
        other = holder(root, LEASE) or holder(root, REQUEST)
        free = 0 if other else free + 1
        if other and not told:
            rehearse()
            warn(f"This job stands by: {other} already writes the lake {root}.")
            told = True
        if free == LOOKS_OF_A_STANDBY:
            with suppress(AnotherWriter):
                lease.acquire()
                return True
            free = 0
        stop.wait(LOOKS_APART_SECONDS)
    return False


@contextmanager
def handed_over(
    lake_root: str, command: ReplayPromote | None = None, patience_seconds: float = PATIENCE_SECONDS
) -> Iterator[Promoted | None]:
    """Holds the writer lease, and yields None; a live job that has it hands it over at the end of its batch, when all
    tables are there. A job to which a command is delegated does that instead and keeps the lease; what it did is
    yielded.

    Raises:
        AnotherWriter: Another command asks for it, too, or the live job does neither within that time.
        PtsError: What the job was refused for, in place of the command.
    """
    request = HandoverRequest(command=command)
    refusal = f"already waits for the lake {lake_root}, or has it. Wait for it."
    if other := holder(lake_root, REQUEST):
        raise refused(other, refusal)
    # First the files: while a compaction is waited for, the live job is not asked yet, and goes on.
    with deleting_files(lake_root), closing(locked(lake_root, REQUEST, refusal, note=request.model_dump_json())):
        lease = WriterLease(lake_root)
        try:
            with part("Waiting for the lake"):
                reply = patiently(lambda: _acquired_or_replied(lease, request), patience_seconds)
            with lease.explaining():
                yield reply.result() if reply else None
        finally:
            lease.release()


def _acquired_or_replied(lease: WriterLease, request: HandoverRequest) -> HandoverReply | None:
    """The reply once there is one, None once the lease is held. Raises `AnotherWriter` when there is neither yet."""
    if (reply := _reply_to(lease.lake_root, request)) is None:
        lease.acquire()
        if (reply := _reply_to(lease.lake_root, request)) is not None:  # of a job that has ended since
            lease.release()
    return reply


def waiting_request(lake_root: str) -> HandoverRequest | None:
    """The request of the command that waits for the lease; None when none does, or when it has its reply."""
    other = holder(lake_root, REQUEST)
    request = HandoverRequest.parse(other.note) if other and other.note else None
    return request if request and _reply_to(lake_root, request) is None else None


def _reply_to(lake_root: str, request: HandoverRequest) -> HandoverReply | None:
    try:
        reply = HandoverReply.model_validate_json(files_at(lake_root).read(REPLY))
    except (FileNotFoundError, ValidationError):  # one of other code is to another request
        return None
    return reply if reply.request_id == request.request_id else None
