"""moto's S3 server, which grants a conditional write to one of those who ask at once, as S3 does.

    python -m tests.store_server …

Its arguments are moto's. By itself, moto looks at what is there and then writes, in a thread for each request: under
load, it has told two writers of one name that theirs is there.
"""

from collections.abc import Callable
from functools import wraps
from threading import Lock
from typing import Any

from moto.s3.responses import S3Response
from moto.server import main

Write = Callable[[S3Response], Any]
WRITES = ("put_object", "copy_object", "delete_object")

_lock = Lock()


def _one_at_a_time(write: Write) -> Write:
    @wraps(write)
    def waits(response: S3Response) -> Any:
        with _lock:  # the request was read by now: no client keeps others out by its slowness
            return write(response)

    return waits


for name in WRITES:
    setattr(S3Response, name, _one_at_a_time(getattr(S3Response, name)))

if __name__ == "__main__":
    main()
