"""What becomes true in a moment."""

import time
from collections.abc import Callable


def becomes(expected: Callable[[], bool], seconds: float = 20) -> bool:
    """Whether it is true within that time."""
    deadline = time.monotonic() + seconds
    while not (is_true := expected()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return is_true
