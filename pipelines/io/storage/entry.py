"""What a folder lists."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Entry:
    """What is in a folder.

    Attributes:
        name: Without the folders above.
        byte_count: How large it is; 0 for a folder.
        modified_at: In seconds since the Unix epoch, by the storage's clock; 0 for a folder.
        is_folder: Whether it is one itself.
    """

    name: str
    byte_count: int
    modified_at: float
    is_folder: bool
