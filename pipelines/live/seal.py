"""`pts seal`: records of the intake topics, sealed, into those that are kept for ever (ADR 29)."""

import math
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime

from pipelines.commands import Seal
from pipelines.contracts.judge import Message
from pipelines.contracts.seal import how_sealed, sealed
from pipelines.contracts.topics import INPUT_TOPICS, Topic, intake_of
from pipelines.errors import Interrupted, InvalidInput, KeysUnavailable, TopicMismatch
from pipelines.io.kafka.admin import end_offsets, topic_states
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.mover import Mover
from pipelines.io.kafka.producer import LARGEST_RECORD_BYTES
from pipelines.io.keys.key_store import KeyStore
from pipelines.observability.sealed_batch import SealedBatch, SealObserver
from pipelines.processes.signals import signals_ask_to_stop
from pipelines.progress import part
from pipelines.settings import Settings
from pipelines.state.lake_choices import wires

AROUND_A_VALUE_BYTES = 2_000
"""What else of a record and of a batch with this one alone counts, its key included."""

LAST_SECONDS = 15.0
"""How long it goes on when it is asked to stop."""

SEALING_IS_OFF = "Sealing is off: PTS_SEAL__ENABLED=true turns it on, for topics that are new."


def run(command: Seal, settings: Settings, observers: Sequence[SealObserver] = ()) -> int:
    """Moves until SIGTERM or Ctrl-C, and what is there then; with `command.drain`, what is there at the start. Returns
    how many records. Observers are told of each batch.

    Whenever it is ended, each record is on the kept topic once, after the next start at the latest. What it is asked to
    leave behind, within `LAST_SECONDS`, does not wait in clear for that, nor may its time in the intake topic pass.

    Raises:
        InvalidInput: Sealing is off.
        KeysUnavailable: The key store is missing, or cannot be used.
        BrokerUnavailable, AccessRefused, TopicMismatch, LogTruncated, AnotherWriter: see `errors.py`.
        Interrupted: A drain was asked to stop.
    """
    if not settings.seal.enabled:
        raise InvalidInput(SEALING_IS_OFF)
    connection = Connection.of(settings, "sealer")
    store = opened_store(connection, settings, command.new_keys)
    kept = {intake_of(topic, settings.seal.intake_hours).name: topic for topic in INPUT_TOPICS}
    moved, outcomes = 0, Counter[tuple[str, str]]()
    with (
        signals_ask_to_stop() as stop,
        closing(store),
        closing(_mover(connection, kept, store, settings, outcomes)) as mover,
        part("Moving records"),
    ):
        mover.begin(command.skip_lost)
        left = mover.behind() if command.drain else math.inf
        looked_on, until = None, math.inf
        while left > 0 and time.monotonic() < until:
            if stop.is_set() and until == math.inf:
                left, until = mover.behind(), time.monotonic() + LAST_SECONDS
            if looked_on != (today := datetime.now(UTC).date()):
                store.erase_days_before(settings.seal.day_key_days)
                looked_on = today
            before = mover.positions
            moved += mover.move()
            batch = _batch(before, mover, outcomes)
            left -= sum(end - first for _, _, first, end in batch.ranges)
            outcomes.clear()
            for each in observers:
                each.batch_done(batch)
    if stop.is_ctrl_c:
        raise KeyboardInterrupt
    if stop.is_set() and command.drain and left > 0:
        raise Interrupted("The drain was stopped before its end. Start it again to go on.")
    return moved


def opened_store(connection: Connection, settings: Settings, is_new: bool) -> KeyStore:
    """The key store, made where nothing was sealed yet. Raises `KeysUnavailable` where it is missing and records are
    there: a new one would mint keys for packages that were erased.
    """
    file = settings.key_store
    if not file.exists():
        names = [topic.name for topic in INPUT_TOPICS]
        held = end_offsets(connection, names)
        if not is_new and any(end for ends in held.values() for end in ends.values()):
            raise KeysUnavailable(
                f"There is no key store {file}, and {' or '.join(names)} at {connection} has records. Bring it back "
                "from where it was, or set PTS_SEAL__KEYS. If nothing was ever sealed, what stands there in clear "
                "cannot be forgotten: begin with new topics, or accept that with `pts seal --new-keys`."
            )
        KeyStore.create(file)
        sys.stderr.write(f"pts: made the key store {file}: keep it as safe as what it opens, and a copy elsewhere\n")
    return KeyStore(file)


def _batch(before: Mapping[tuple[str, int], int], mover: Mover, outcomes: Mapping[tuple[str, str], int]) -> SealedBatch:
    ranges = [(*part, before[part], end) for part, end in mover.positions.items() if end != before[part]]
    return SealedBatch(dict(outcomes), tuple(ranges), mover.last_known_behind())


def _mover(
    connection: Connection,
    kept: Mapping[str, Topic],
    store: KeyStore,
    settings: Settings,
    outcomes: Counter[tuple[str, str]],
) -> Mover:
    """One that seals what it moves, and counts what becomes of it by kept topic and outcome."""
    wire_of, fields = wires(settings), settings.seal.columns
    most_bytes = _most_bytes(connection, [topic.name for topic in kept.values()])

    def change(messages: Sequence[tuple[str, Message]]) -> Sequence[Message]:
        changed = []
        with store.minting() as keys:
            for name, message in messages:
                topic = kept[name]
                changed.append(sealed(message, topic, wire_of[topic.name], fields, keys, most_bytes[topic.name]))
                outcome = how_sealed(message, changed[-1])
                outcomes[topic.name, outcome] += 1
                if outcome == "cut":
                    sys.stderr.write(
                        f"pts: a record of {name} is too large for {topic.name} once it is sealed: its beginning is "
                        "sealed whole, and will be in quarantine as malformed\n"
                    )
        return changed

    return Mover(connection, {name: topic.name for name, topic in kept.items()}, change)


def _most_bytes(connection: Connection, names: Sequence[str]) -> dict[str, int]:
    """How large a value may be by topic: what the topic takes, and this project's producers."""
    states = topic_states(connection, names)
    if missing := [name for name in names if name not in states]:
        raise TopicMismatch(f"There is no topic {', '.join(missing)} at {connection}. `pts topics` creates it.")
    limits = {name: int(state.config["max.message.bytes"]) for name, state in states.items()}
    return {name: min(limit, LARGEST_RECORD_BYTES) - AROUND_A_VALUE_BYTES for name, limit in limits.items()}
