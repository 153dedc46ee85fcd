"""What is sealed is shown to who may read the key store, and a mask to everybody else."""

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from pipelines.contracts.envelope import sealed_fields, sealed_value
from pipelines.errors import KeysUnavailable
from pipelines.io.keys.clearance import MASKED, Clearance
from pipelines.io.keys.key_store import KeyStore
from pipelines.settings import Seal, Settings
from tests.permissions import NOBODY, told_without_root

TEXTS = {"city": "Kiel", "status_description": "left with Zyxwvut"}
MASKS = {"city": "[sealed]", "postal_code": "[sealed]", "status_description": "[sealed]"}


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """Those of a home with an empty key store."""
    made = Settings(home=tmp_path)
    KeyStore.create(made.key_store)
    return made


def scan(settings: Settings, number: int, **columns: Any) -> dict[str, Any]:
    """A row of silver.ship_events, sealed."""
    with KeyStore(settings.key_store).minting() as keys:
        envelope = sealed_fields(TEXTS, keys.of_package(number), number, "ship-events")
    blank: dict[str, Any] = dict.fromkeys(("carrier_code", "country", "state", "city", "postal_code"))
    return {"tracking_number": number, **blank, "country": "DE", "status_description": envelope, **columns}


def test_who_may_read_the_key_store_sees_the_fields_and_everybody_else_a_mask(settings: Settings) -> None:
    row = scan(settings, 42)
    clear = {**row, **TEXTS}
    assert Clearance.of(settings).row(row) == clear
    assert MASKED.row(row) == {**row, **MASKS}
    settings.key_store.unlink()
    assert Clearance.of(settings).row(row) == {**row, **MASKS}


def test_key_store_that_may_not_be_read_gives_the_mask(settings: Settings) -> None:
    with TemporaryDirectory(dir="/tmp") as folder:  # the tests' own is closed, whatever is in it
        Path(folder).chmod(0o755)
        store = Path(folder, "keys.sqlite")
        sealing = Settings(home=settings.home, seal=Seal(keys=store))
        KeyStore.create(store)
        row = scan(sealing, 42)

        def shown() -> Any:
            assert store.exists()
            return Clearance.of(sealing).row(row)

        store.chmod(0o000)
        assert told_without_root(shown) == {**row, **MASKS}
        store.chmod(0o600)
        if os.geteuid() == 0:
            assert told_without_root(shown) == {**row, **MASKS}
            os.chown(store, NOBODY, NOBODY)
        assert told_without_root(shown) == {**row, **TEXTS}


def test_key_store_of_every_user_is_refused_and_not_a_mask(settings: Settings) -> None:
    settings.key_store.chmod(0o604)
    with pytest.raises(KeysUnavailable, match="every user"):
        Clearance.of(settings)


def test_erased_package_is_masked_for_everybody_and_its_neighbour_is_not(settings: Settings) -> None:
    row, neighbour = scan(settings, 42), scan(settings, 43)
    KeyStore(settings.key_store).erase(42)
    clearance = Clearance.of(settings)
    assert clearance.row(row) == {**row, **dict.fromkeys(MASKS, "[erased]")}
    assert clearance.row(neighbour)["city"] == "Kiel"
    assert MASKED.row(row) == {**row, **MASKS}


def test_envelope_of_another_package_is_a_mask(settings: Settings) -> None:
    row = scan(settings, 42)
    scan(settings, 43)
    assert Clearance.of(settings).row({**row, "tracking_number": 43}) == {**row, **MASKS, "tracking_number": 43}


def test_scan_that_is_not_sealed_is_shown_as_it_is(settings: Settings) -> None:
    for clearance in (MASKED, Clearance.of(settings)):
        for text in (None, "left with sealed:1"):
            row = scan(settings, 42, city=None, status_description=text)
            assert clearance.row(row) == row


def test_fields_that_are_sealed_are_those_that_are_masked(settings: Settings) -> None:
    sealing = Settings(home=settings.home, seal=Seal(fields="status_description,state", keys=settings.home / "none"))
    row = scan(settings, 42)
    assert Clearance.of(sealing).row(row) == {**row, "status_description": "[sealed]", "state": "[sealed]"}


def test_value_that_was_sealed_whole_is_opened_while_the_key_of_its_day_is_there(settings: Settings) -> None:
    store = KeyStore(settings.key_store)
    with store.minting() as keys:
        day, key = keys.of_today()
    value = sealed_value(b"anything at all", key, day, "ship-events")
    clearance = Clearance.of(settings)
    assert clearance.value(value, "ship-events") == b"anything at all"
    for by, topic in ((MASKED, "ship-events"), (clearance, "ship-routes")):
        assert by.value(value, topic) == b"[sealed]"
    store.erase_days_before(-1)
    assert clearance.value(value, "ship-events") == b"[sealed]"


def test_record_of_the_quarantine_has_no_part_of_an_envelope(settings: Settings) -> None:
    envelope = scan(settings, 42)["status_description"]
    record = {"kafka_topic": "ship-events", "value": f"42,A1,{envelope},DE".encode(), "detail": f"is {envelope[:80]}"}
    for clearance in (MASKED, Clearance.of(settings)):
        assert clearance.record(record) == {**record, "value": b"42,A1,[sealed],DE", "detail": "is [sealed]"}
        assert clearance.record({**record, "value": None, "detail": None})["value"] is None
