"""Which code makes the rows?"""

import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
MAKES_ROWS = (
    *("contracts", "tables", "transforms", "graph.py"),
    *("code_version.py", "lake_root.py", "prepared_query.py", "session.py", "values.py", "wire_format.py"),
    *(f"io/{system}" for system in ("delta", "duckdb", "kafka", "spark", "storage")),
    *("state", "engine", "live", "maintenance", "replay"),
)
"""The rooms of the code by which rows are read, made, corrected or put in place of others. Not what starts it, draws
its results or asks the tables; nor settings, which never change what a row means."""

SCALA_SOURCES = "infra/java"
"""What Spark's Java is given of this project's own, beside the package."""


@cache
def fingerprint(package: Path = PACKAGE) -> str:
    """16 hexadecimal digits that change with any file of these rooms."""
    digest = hashlib.sha256()
    for room in MAKES_ROWS:
        for file in sorted((package / room).rglob("*.py")) or [package / room]:
            digest.update(f"{file.relative_to(package)}\0".encode() + file.read_bytes() + b"\0")
    for file in sorted((package.parent / SCALA_SOURCES).glob("*.scala")):
        digest.update(f"{file.name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
