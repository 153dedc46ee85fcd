"""What is known of each replay of a lake: the record in its folder, beside the tables that it made."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from pipelines.commands import REPLAY_ID
from pipelines.errors import InvalidInput, LakeMismatch, LakeUnavailable, NotFound
from pipelines.io.kafka.log import OffsetRange, Offsets, ranges_between
from pipelines.io.storage.files import files_at
from pipelines.lake_root import replays_root
from pipelines.state.exclusion import raise_if_delegated
from pipelines.state.replay_folders import RECORD_FILE, replay_names
from pipelines.state.writer_lease import locked


class Record(BaseModel):
    """Part of `replay.json`."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Step(Record):
    """A stretch of the log.

    Attributes:
        end: Up to where it is replayed.
        batch_id: The row of the live ledger that ends there.
        expired_before: What the live lake then removed: by table, rows older than this time.
    """

    end: Offsets
    batch_id: int
    expired_before: Mapping[str, datetime] = {}


class Comparison(Record):
    """The newest comparison of live and shadow.

    Attributes:
        compared_at: When.
        live_versions, shadow_versions: What was compared, by table.
        declared: Differences that were declared beforehand.
        differing: Rows that are missing, extra or changed, by table; only tables that have some.
        has_passed: Whether all of them were declared.
    """

    compared_at: datetime
    live_versions: Mapping[str, int]
    shadow_versions: Mapping[str, int]
    declared: tuple[str, ...]
    differing: Mapping[str, int]
    has_passed: bool


class Promotion(Record):
    """One time that the replay's tables took the place of the live ones.

    Attributes:
        begun_at: When the lake was held for it.
        batch_id: The row of the live ledger that tells of it.
        way_back_to: The newest batch before it at which all live tables stood.
        before: Their versions there.
        shadow_versions: Versions of the replay's tables that took their place.
        positions: The batch at which the catch-up tables are that have not come up to this one.
        done_at: When that row was written; None while it is under way, or was cut off.
    """

    begun_at: datetime
    batch_id: int
    way_back_to: int
    before: Mapping[str, int]
    shadow_versions: Mapping[str, int]
    positions: Mapping[str, int]
    done_at: datetime | None = None

    @property
    def way_back(self) -> str:
        """Name of the replay that rolls it back."""
        return f"back-{self.batch_id}"


@dataclass(frozen=True)
class Promoted:
    """What a promotion did.

    Attributes:
        replay_id: The replay.
        batch_id: The ledger's row that tells of it.
        tables: Version of each live table after it.
        pause_seconds: How long the lake was held: no batch ran meanwhile. 0 when it had been done before.
    """

    replay_id: str
    batch_id: int
    tables: Mapping[str, int]
    pause_seconds: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Replay(Record):
    """The log's history through the code of today, into tables of its own.

    Attributes:
        replay_id: Names its folder, and begins the app id of its transactions.
        created_at: When it was planned.
        fence: The batch of the live ledger at which live and shadow are compared.
        begin: Where on the log the replay begins.
        steps: What it replays, in order: up to the as-of batch, and when it is promoted on to where the live job is.
        max_records: Most records in a batch.
        code: Fingerprint of the code that builds it (`pipelines/code_version.py`).
        formats: How the values of each topic were read.
        base: Versions of the live tables from which it starts, if not from nothing: a rollback.
        built: The batch of its own ledger at which its tables are at the as-of batch; None before they are.
        comparison: The newest; None before the first.
        promotions: Oldest first.
    """

    replay_id: str
    created_at: datetime
    fence: int
    begin: Offsets
    steps: tuple[Step, ...]
    max_records: int
    code: str
    formats: Mapping[str, str] = {}
    base: Mapping[str, int] = {}
    built: int | None = None
    comparison: Comparison | None = None
    promotions: tuple[Promotion, ...] = ()

    @property
    def under_way(self) -> Promotion | None:
        """The promotion that was begun and is not done."""
        return self.promotions[-1] if self.promotions and self.promotions[-1].done_at is None else None

    def live_batch(self, at: Offsets) -> int | None:
        """The batch of the live ledger that ends where a step of this one ends, or where it begins; None elsewhere."""
        known = {step.batch_id: step.end for step in self.steps} | ({self.fence: self.begin} if self.base else {})
        return max((batch_id for batch_id, end in known.items() if end == at), default=None)

    def batches(self) -> Iterator[tuple[int, tuple[OffsetRange, ...]]]:
        """Its batches: the number of the step, and what is read. The same at every start, so that one that was cut off
        is known again."""
        begin = self.begin
        for number, step in enumerate(self.steps):
            stretch = ranges_between(begin, step.end)
            size = sum(part.size for part in stretch)
            count = -(-size // self.max_records)
            for each in range(count):
                yield number, tuple(_slice(part, each, count) for part in stretch)
            begin = step.end


def _was_cut_off(folder: str) -> bool:
    """Whether a replay's record, also one of other code, says that its promotion is under way."""
    try:
        promotions = json.loads(files_at(folder).read(RECORD_FILE))["promotions"]
        return bool(promotions) and promotions[-1]["done_at"] is None
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False


def half_done(replay_id: str) -> str:
    """Says so of a replay whose promotion was cut off, and what to do; without a full stop."""
    return (
        f"The promotion of the replay {replay_id} was cut off between tables. `pts replay promote {replay_id}` "
        "finishes it"
    )


def _slice(part: OffsetRange, number: int, count: int) -> OffsetRange:
    """Part `number` of a range that is cut into `count` parts of about the same size."""
    begin, end = (part.start + part.size * each // count for each in (number, number + 1))
    return OffsetRange(part.topic, part.partition, begin, end)


class Replays:
    """The replays of the lake under a root."""

    def __init__(self, lake_root: str) -> None:
        self._lake_root = lake_root
        self._root = replays_root(lake_root)

    def root(self, replay_id: str) -> str:
        """The lake that a replay builds. Raises `InvalidInput` for what cannot be the name of one."""
        if not re.fullmatch(REPLAY_ID, replay_id):
            raise InvalidInput(f"{replay_id!r} is no replay's name: lower-case letters, digits and dashes, at most 63.")
        return f"{self._root}/{replay_id}"

    def all(self) -> list[Replay]:
        """All replays of the lake, oldest first."""
        replays = []
        for name in replay_names(self._lake_root):
            with suppress(NotFound):  # it is being dropped
                replays.append(self.load(name))
        return sorted(replays, key=lambda replay: replay.created_at)

    def cut_off(self) -> list[str]:
        """Names of the replays whose promotion was begun and is not done, also if another code wrote that down."""
        return [name for name in replay_names(self._lake_root) if _was_cut_off(f"{self._root}/{name}")]

    def load(self, replay_id: str) -> Replay:
        """Raises `NotFound` when there is none of that name, `LakeMismatch` when its record says nothing."""
        folder = self.root(replay_id)
        try:
            return Replay.model_validate_json(files_at(folder).read(RECORD_FILE))
        except FileNotFoundError as error:
            names = ", ".join(replay_names(self._lake_root)) or "none"
            raise NotFound(f"There is no replay {replay_id}. There is: {names}.") from error
        except ValidationError as error:
            raise LakeMismatch(
                f"{folder}/{RECORD_FILE} is not a replay's record: `pts replay drop {replay_id}`."
            ) from error

    def save(self, replay: Replay) -> None:
        """Writes the record, as a whole or not at all."""
        files = files_at(self.root(replay.replay_id))
        try:
            files.make_folder("")
            files.write(RECORD_FILE, replay.model_dump_json(indent=2), is_lasting=True)
        except OSError as error:
            raise LakeUnavailable(f"{files.root}/{RECORD_FILE} cannot be written: {error.strerror}.") from error

    def drop(self, replay_id: str) -> None:
        """Deletes the replay's folder, also one whose record says nothing.

        Raises `NotFound` when there is none, `LakeMismatch` when its promotion was cut off: only with the folder can
        that be finished.
        """
        if _was_cut_off(self.root(replay_id)):
            raise LakeMismatch(f"{half_done(replay_id)}, by the code that began it; then it can be dropped.")
        if not self.clear(replay_id):
            self.load(replay_id)

    def clear(self, replay_id: str) -> bool:
        """Deletes the replay, if there is one, and what is left of one that was not deleted to the end; tells whether
        there was anything.
        """
        files = files_at(self.root(replay_id))
        had_record = files.exists(RECORD_FILE)
        files.delete(RECORD_FILE)  # first: where this is cut off, no record tells of tables that are gone
        return files.delete_folder("") or had_record

    @contextmanager
    def one_at_a_time(self) -> Iterator[None]:
        """Holds the lake's replays; the lock goes with the process. Raises `AnotherWriter` when another one has it."""
        refusal = "already works on a replay of this lake. Wait for it, or stop it."
        with closing(locked(self._root, "_replay.lock", refusal)):
            raise_if_delegated(self._lake_root)
            yield
