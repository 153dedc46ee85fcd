"""What others may do with files."""

import json
import os
import stat
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

NOBODY = 65534
"""The user, and the group, that own nothing."""


def permitted_beyond(mask: int, folder: Path) -> dict[str, str]:
    """The files and folders in a folder that permit something of the mask, by path, with all that they permit."""
    modes: dict[Path, int] = {}
    for parent, folders, files in os.walk(folder):
        for path in (Path(parent, name) for name in (*folders, *files)):
            with suppress(FileNotFoundError):  # of processes that live, and delete files meanwhile
                modes[path] = path.lstat().st_mode
    return {
        str(path.relative_to(folder)): oct(mode & 0o777)
        for path, mode in modes.items()
        if mode & mask and not stat.S_ISLNK(mode)
    }


def told_without_root(tell: Callable[[], Any]) -> Any:
    """What a call tells, in JSON's terms, in a process that has no rights of root: where this one has them, in a child
    that has given them up, and owns nothing.
    """
    if os.geteuid():
        return tell()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            os.write(writing, json.dumps(tell()).encode())
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)  # nothing of what the tests are to do at their end
    os.close(writing)
    with os.fdopen(reading) as told:
        said = told.read()
    os.waitpid(child, 0)
    return json.loads(said)
