"""Small files that a reader finds as a whole, whoever else writes them."""

import os
import uuid
from pathlib import Path


def write_whole(path: Path, text: str, is_lasting: bool = False) -> None:
    """Puts the text in the file's place at once. Of several writers, threads or processes, the last one's text stays.

    Args:
        path: In a folder that is there.
        text: All of it.
        is_lasting: Whether the text must be on the disk before the old one goes: a machine that dies loses neither.

    Raises `OSError`, and the old file stays.
    """
    new = path.with_name(f"{path.name}.{uuid.uuid4().hex}.new")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            if is_lasting:
                file.flush()
                os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
