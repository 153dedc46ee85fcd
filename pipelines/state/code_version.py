"""Which code makes the rows?"""

import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
MAKES_ROWS = (
    *("contracts", "tables", "transforms", "graph.py", "session.py"),
    *(f"io/{name}.py" for name in ("delta/delta_rs", "delta/lake", "kafka/log")),
    "engine",
    "maintenance/expire.py",
)
MAKES_PAGES = "tables/docs.py"


@cache
def fingerprint(package: Path = PACKAGE) -> str:
    """16 hexadecimal digits that change with any file on which a row may depend."""
    digest = hashlib.sha256()
    files = (file for name in MAKES_ROWS for file in [package / name, *sorted((package / name).rglob("*.py"))])
    for file in files:
        if file.is_file() and file != package / MAKES_PAGES:
            digest.update(f"{file.relative_to(package)}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16]
