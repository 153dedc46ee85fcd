"""Keys are random, kept once, and forgotten for good."""

from contextlib import suppress
from pathlib import Path

import pytest

from pipelines.errors import KeysUnavailable
from pipelines.io.keys.key_store import KeyStore


@pytest.fixture
def store(tmp_path: Path) -> KeyStore:
    KeyStore.create(tmp_path / "seal" / "keys.sqlite")
    return KeyStore(tmp_path / "seal" / "keys.sqlite")


def minted(store: KeyStore, number: int) -> bytes:
    with store.minting() as keys:
        return keys.of_package(number)


def test_key_is_minted_once_and_found_by_the_next_process(store: KeyStore, tmp_path: Path) -> None:
    assert minted(store, 42) == minted(store, 42) != minted(store, 43)
    assert KeyStore(tmp_path / "seal" / "keys.sqlite", is_read_only=True).key_of(42) == minted(store, 42)


def test_erased_key_is_in_no_file_and_is_never_minted_again(store: KeyStore, tmp_path: Path) -> None:
    key, neighbour = minted(store, 42), minted(store, 43)
    assert any(key in file.read_bytes() for file in (tmp_path / "seal").iterdir())
    assert store.erase(42)
    assert not store.erase(42)
    assert not any(key in file.read_bytes() for file in (tmp_path / "seal").iterdir())
    assert minted(store, 42) != minted(store, 42), "who seals is given keys that nobody keeps"
    assert store.key_of(42) is None
    assert store.is_erased(42)
    assert store.key_of(43) == neighbour


def test_of_many_erased_keys_no_piece_is_left_among_those_that_stay(store: KeyStore, tmp_path: Path) -> None:
    """Of a single one, the tombstone covers the bytes by chance."""
    with store.minting() as keys:
        minted_keys = {number: keys.of_package(number) for number in range(1, 200)}
    for number in range(1, 200, 2):
        store.erase(number)
    held = (tmp_path / "seal" / "keys.sqlite").read_bytes()
    for number, key in minted_keys.items():
        assert (key[:8] in held or key[-8:] in held) == (number % 2 == 0)


def test_package_that_was_never_seen_is_erased_all_the_same(store: KeyStore) -> None:
    assert not store.erase(7)
    minted(store, 7)
    assert store.key_of(7) is None


def test_key_of_a_day_lives_as_long_as_it_is_told(store: KeyStore) -> None:
    with store.minting() as keys:
        day, key = keys.of_today()
    assert store.erase_days_before(1) == 0
    assert store.key_of_day(day) == key
    assert store.erase_days_before(-1) == 1
    assert store.key_of_day(day) is None


def test_keys_of_a_block_that_fails_are_not_kept(store: KeyStore) -> None:
    with suppress(ZeroDivisionError), store.minting() as keys:
        keys.of_package(42)
        raise ZeroDivisionError
    assert store.key_of(42) is None


def test_store_is_its_users_alone_and_one_that_is_not_is_refused(store: KeyStore, tmp_path: Path) -> None:
    file = tmp_path / "seal" / "keys.sqlite"
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o604)
    with pytest.raises(KeysUnavailable, match="every user of this machine"):
        KeyStore(file)


def test_missing_or_damaged_store_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(KeysUnavailable, match="There is no key store"):
        KeyStore(tmp_path / "none")
    (tmp_path / "torn").touch(0o600)
    (tmp_path / "torn").write_bytes(b"no database" * 1_000)
    with pytest.raises(KeysUnavailable, match="cannot be used"):
        KeyStore(tmp_path / "torn")


def test_creation_leaves_a_store_as_it_is(store: KeyStore, tmp_path: Path) -> None:
    key = minted(store, 42)
    KeyStore.create(tmp_path / "seal" / "keys.sqlite")
    assert store.key_of(42) == key
