"""Small files that a reader finds as a whole, whoever else writes them."""

import os
import uuid
from pathlib import Path


def write_whole(path: Path, text: str, is_lasting: bool = False, is_secret: bool = False) -> None:
    """Puts the text in the file's place at once. Of several writers, threads or processes, the last one's text stays.

    Args:
        path: In a folder that is there.
        text: All of it.
        is_lasting: Whether the text must be on the disk before the old one goes: a machine that dies loses neither.
        is_secret: Whether it is for this user alone, whatever the umask is.

    Raises `OSError`, and the old file stays.
    """
    new = path.with_name(f"{path.name}.{uuid.uuid4().hex}.new")
    try:
        new.touch(0o600 if is_secret else 0o666, exist_ok=False)
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            if is_lasting:
                file.flush()
                os.fsync(file.fileno())
        new.replace(path)
    finally:
        new.unlink(missing_ok=True)
