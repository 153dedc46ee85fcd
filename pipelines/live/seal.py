"""`pts seal`: records of the intake topics, sealed, into those that are kept for ever (ADR 29)."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime

from pipelines.commands import Seal
from pipelines.contracts.judge import Message
from pipelines.contracts.seal import sealed
from pipelines.contracts.topics import INPUT_TOPICS, Topic, intake_of
from pipelines.errors import Interrupted, InvalidInput, KeysUnavailable
from pipelines.io.kafka.admin import end_offsets
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.mover import Mover
from pipelines.io.keys.key_store import KeyStore
from pipelines.io.processes.signals import signals_ask_to_stop
from pipelines.settings import Settings
from pipelines.state.lake_choices import wires


def run(command: Seal, settings: Settings) -> int:
    """Moves until SIGTERM or Ctrl-C; with `command.drain`, what is there at the start. Returns how many records.

    Whenever it is ended, each record is on the kept topic once, after the next start at the latest.

    Raises:
        InvalidInput: Sealing is off.
        KeysUnavailable: The key store is missing, or cannot be used.
        BrokerUnavailable, AccessRefused, TopicMismatch, LogTruncated, AnotherWriter: see `errors.py`.
        Interrupted: A drain was asked to stop.
    """
    if not settings.seal.enabled:
        raise InvalidInput("Sealing is off: PTS_SEAL__ENABLED=true turns it on, for topics that are new.")
    connection = Connection.of(settings, "sealer")
    store = opened_store(connection, settings, command.new_keys)
    kept = {intake_of(topic, settings.seal.intake_hours).name: topic for topic in INPUT_TOPICS}
    moved = 0
    with signals_ask_to_stop() as stop, closing(store), closing(_mover(connection, kept, store, settings)) as mover:
        mover.begin(command.skip_lost)
        left, looked_on = mover.behind(), None
        while not (stop.is_set() or (command.drain and left <= 0)):
            if looked_on != (today := datetime.now(UTC).date()):
                store.erase_days_before(settings.seal.day_key_days)
                looked_on = today
            before = mover.position
            moved += mover.move()
            left -= mover.position - before
    if stop.is_ctrl_c:
        raise KeyboardInterrupt
    if stop.is_set() and command.drain:
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


def _mover(connection: Connection, kept: Mapping[str, Topic], store: KeyStore, settings: Settings) -> Mover:
    wire_of, fields = wires(settings), settings.seal.columns

    def change(messages: Sequence[tuple[str, Message]]) -> Sequence[Message]:
        with store.minting() as keys:
            return [sealed(message, kept[name], wire_of[kept[name].name], fields, keys) for name, message in messages]

    return Mover(connection, {name: topic.name for name, topic in kept.items()}, change)
