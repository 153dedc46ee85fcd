"""The other end of `driving.Driver`: a process that does one thing each time it is asked."""

import json
import sys
import time
from collections.abc import Callable


def answer_requests(run: Callable[[dict[str, str]], object]) -> None:
    """For every line of standard input, a JSON object, calls `run` and writes how long it took. Ends with the input."""
    for line in sys.stdin:
        started = time.monotonic()
        run(json.loads(line))
        answer = {"seconds": time.monotonic() - started}
        sys.stdout.write(json.dumps({"answer": answer}) + "\n")
        sys.stdout.flush()
