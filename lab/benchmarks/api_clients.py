"""Many clients of the API, in one process: some hold streams, some ask at a steady rate.

    .venv/bin/python -m lab.benchmarks.api_clients <url> <streams> <requests/s> <seconds> <file for the events>

Prints how long answers took over the second half, from when each was due: a client that waits for the one before it
would not see what it waits for. The file gets three columns as JSON: package, offset of its event, time of arrival.
"""

import asyncio
import json
import sys
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

import uvloop

CONNECTIONS = 64
OPENED_PER_SECOND = 500
PAUSE_SECONDS = 0.001
HOLD_SECONDS = 12.0
"""Streams stay open for so long after the last request: until the last scans of the feed have shown."""


class Clients:
    """Streams of packages 1, 2, … and requests for the same."""

    def __init__(self, url: str, streams: int, rate: int, seconds: float, hold_seconds: float = HOLD_SECONDS) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        self._streams, self._rate, self._seconds, self._hold_seconds = streams, rate, seconds, hold_seconds
        self._packages, self._offsets, self._times = array("q"), array("q"), array("d")
        self._took, self._late = array("d"), array("d")
        self._failed = 0

    async def run(self) -> None:
        """Opens the streams, asks for so long, and ends."""
        listening = []
        for number in range(1, self._streams + 1):
            listening.append(asyncio.create_task(self._listen(number)))
            if number % 50 == 0:
                await asyncio.sleep(50 / OPENED_PER_SECOND)
        began = time.monotonic()
        due: asyncio.Queue[float] = asyncio.Queue()
        asking = [asyncio.create_task(self._ask(due, began + self._seconds / 2)) for _ in range(CONNECTIONS)]
        sent = 0
        while (now := time.monotonic()) < began + self._seconds:
            while sent < (now - began) * self._rate:
                due.put_nowait(began + sent / self._rate)
                sent += 1
            await asyncio.sleep(PAUSE_SECONDS)
            if now >= began + self._seconds / 2:
                self._late.append(time.monotonic() - now - PAUSE_SECONDS)
        await due.join()
        await asyncio.sleep(self._hold_seconds)
        for task in (*asking, *listening):
            task.cancel()

    async def _ask(self, due: "asyncio.Queue[float]", since: float) -> None:
        reader, writer = await asyncio.open_connection(self._host, self._port)
        package = 0
        while True:
            at = await due.get()
            package = package % self._streams + 1
            writer.write(f"GET /packages/{package} HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
            if at >= since:
                self._took.append(time.monotonic() - at)
                self._failed += not head.startswith(b"HTTP/1.1 200")
            due.task_done()

    async def _listen(self, package: int) -> None:
        while True:
            reader, writer = await asyncio.open_connection(self._host, self._port)
            writer.write(f"GET /packages/{package}/events HTTP/1.1\r\nHost: {self._host}\r\n\r\n".encode())
            while line := await reader.readline():
                if line.startswith(b"data: "):
                    now, report = time.time(), json.loads(line[6:])
                    if report["eventKafkaOffset"] is not None:
                        self._packages.append(package)
                        self._offsets.append(report["eventKafkaOffset"])
                        self._times.append(now)
            writer.close()
            self._failed += 1  # a stream ended
            await asyncio.sleep(1)

    def told(self) -> dict[str, float]:
        """Of the answers that count."""
        took = sorted(self._took)
        return {
            **{f"p{share}_milliseconds": _quantile(took, share) for share in (50, 95, 99)},
            "greatest_milliseconds": took[-1] * 1_000 if took else 0.0,
            # So much later than it wanted to, this process itself went on: what it says of answers has that in it.
            "late_p99_milliseconds": _quantile(sorted(self._late), 99),
            "per_second": len(took) / (self._seconds / 2),
            "failed": self._failed,
        }

    def events(self) -> list[list[float]]:
        return [list(self._packages), list(self._offsets), list(self._times)]


def _quantile(seconds: Sequence[float], share: int) -> float:
    """Of sorted seconds, in milliseconds."""
    return seconds[int(len(seconds) * share / 100)] * 1_000 if seconds else 0.0


def main() -> None:
    url, streams, rate, seconds, file = sys.argv[1:]
    clients = Clients(url, int(streams), int(rate), float(seconds))
    uvloop.run(clients.run())
    Path(file).write_text(json.dumps(clients.events()), encoding="utf-8")
    sys.stdout.write(json.dumps(clients.told()) + "\n")


if __name__ == "__main__":
    main()
