"""Where a lake is: in a folder of this machine, or under a name in a bucket of an object store."""

import re
from pathlib import Path
from urllib.parse import unquote

FILE_URI = re.compile(r"file:(?://(?:localhost)?)?(/.*)", re.IGNORECASE)
"""A folder of this machine, as a URI."""

STORE_URI = re.compile(r"s3a?://([^/]+(?:/.*?)?)/*", re.IGNORECASE)
"""A name in a bucket of an object store; Hadoop's users know the scheme as s3a."""


def is_place(text: str) -> bool:
    """Whether a lake may be there: no URI, or one of these two."""
    return not is_in_store(text) or any(uri.fullmatch(text) for uri in (FILE_URI, STORE_URI))


def root_of(place: str) -> str:
    """The absolute root of a lake, without a trailing slash; a folder's path also where it is given as `file:`."""
    if store := STORE_URI.fullmatch(place):
        return f"s3://{store[1]}"
    if folder := FILE_URI.fullmatch(place):
        place = unquote(folder[1])
    return str(Path(place).expanduser().resolve())


def is_in_store(root: str) -> bool:
    """Whether a root is that of an object store: no folder of this machine."""
    return "://" in root


def replays_root(root: str) -> str:
    """The folder of all replays of a lake."""
    return f"{root}/_shadow"
