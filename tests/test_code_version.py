"""Tables that other code made are never taken for those of this code."""

import shutil
from pathlib import Path

import grimp
import pytest

from pipelines.code_version import MAKES_ROWS, PACKAGE, SCALA_SOURCES, fingerprint

MAKES_NO_ROWS = (
    *("commands", "errors", "host_environment", "java_process", "java_runtime", "processes", "settings"),
    *("pem", "settings_variables"),
    *("io.keys", "kafka_security", "observability.sealed_batch", "progress", "running_command", "secret"),
)
"""What row-making code may import beside itself: parameters, sentences, locks, keys, deployment, counts and word of
progress."""

ROOMS = tuple(f"pipelines.{room.removesuffix('.py').replace('/', '.')}" for room in MAKES_ROWS)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A copy of the product's own, with the classes beside it."""
    shutil.copytree(PACKAGE.parent / SCALA_SOURCES, tmp_path / SCALA_SOURCES)
    return Path(shutil.copytree(PACKAGE, tmp_path / "pipelines", ignore=shutil.ignore_patterns("__pycache__")))


def test_every_file_of_the_rooms_that_make_rows_changes_the_fingerprint(package: Path) -> None:
    whole = fingerprint(PACKAGE)
    files = [file for room in MAKES_ROWS for file in (sorted((package / room).rglob("*.py")) or [package / room])]
    assert len(files) > 100
    files += (own := list((package.parent / SCALA_SOURCES).glob("*.scala")))
    assert own
    for file in files:
        text = file.read_text()
        file.write_text(f"{text}#\n")
        assert fingerprint.__wrapped__(package) != whole, file
        file.write_text(text)
    assert fingerprint.__wrapped__(package) == whole


def test_a_file_that_is_new_gone_or_renamed_changes_it(package: Path) -> None:
    found = {fingerprint.__wrapped__(package)}
    (package / "transforms" / "new.py").touch()
    found.add(fingerprint.__wrapped__(package))
    (package / "transforms" / "new.py").rename(package / "transforms" / "newer.py")
    found.add(fingerprint.__wrapped__(package))
    (package / "transforms" / "newer.py").rename(package / "engine" / "newer.py")
    assert len(found | {fingerprint.__wrapped__(package)}) == 4


def test_a_room_that_is_gone_is_an_error(package: Path) -> None:
    shutil.rmtree(package / "engine")
    with pytest.raises(FileNotFoundError):
        fingerprint.__wrapped__(package)


def test_what_only_starts_draws_or_asks_does_not(package: Path) -> None:
    before = fingerprint.__wrapped__(package)
    for name in ("cli/main.py", "terminal/rows.py", "queries/sql.py", "stack/demo.py"):
        (package / name).write_text("")
    assert fingerprint.__wrapped__(package) == before


def test_all_that_row_making_code_imports_is_in_the_fingerprint_or_makes_no_rows() -> None:
    """A module that rows come to depend on belongs into one of the rooms, or its room into the list."""
    imports = grimp.build_graph("pipelines")
    makes_rows = {module for module in imports.modules if _is_in(module, ROOMS)}
    used = {other for module in makes_rows for other in imports.find_modules_directly_imported_by(module)}
    beside = tuple(f"pipelines.{name}" for name in MAKES_NO_ROWS)
    assert {other for other in used if not _is_in(other, (*ROOMS, *beside))} == set()


def _is_in(module: str, rooms: tuple[str, ...]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)
