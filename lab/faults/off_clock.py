"""Runs a command of ours as on a host whose clock is off: `python -m lab.faults.off_clock 3600 stream`.

It is the clock as our own modules read it: rows of the ledger, commits of few rows, heartbeats and limits have its
times. Java and librdkafka keep the right one: libfaketime, which would give them another, has both wait for ever.
"""

import pkgutil
import sys
import time
from datetime import datetime, timedelta, tzinfo
from importlib import import_module

import pipelines
from pipelines.cli import main as cli

right_time = time.time


class _LikeTheRightOne(type):
    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, datetime)


def put_off(seconds: int) -> None:
    """From now on."""
    by = timedelta(seconds=seconds)

    class OffDatetime(datetime, metaclass=_LikeTheRightOne):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime.now(tz) + by

    time.time = lambda: right_time() + seconds
    for found in pkgutil.walk_packages(pipelines.__path__, f"{pipelines.__name__}."):
        module = import_module(found.name)
        if vars(module).get("datetime") is datetime:
            vars(module)["datetime"] = OffDatetime


if __name__ == "__main__":
    put_off(int(sys.argv.pop(1)))
    cli.main()
