"""What the clients of the API count."""

import asyncio
import itertools
import json

from lab.benchmarks.api_clients import Clients
from lab.benchmarks.options import Options
from lab.benchmarks.results import new_results
from lab.benchmarks.tables import api_table

ASKED = itertools.count(1)
EVENT = b'event: report\ndata: {"eventKafkaOffset": 7}\n\n'


async def answered(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that has one event for each stream, and answers each third question of all with an error."""
    while request := await reader.readuntil(b"\r\n\r\n"):
        if b"/events" in request:
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n" + EVENT)
            continue
        status = b"503 x" if next(ASKED) % 3 == 0 else b"200 OK"
        writer.write(b"HTTP/1.1 %b\r\nContent-Length: 2\r\n\r\n{}" % status)


def test_clients_note_events_and_count_answers_from_when_they_were_due() -> None:
    async def ask() -> Clients:
        server = await asyncio.start_server(answered, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        clients = Clients(f"http://127.0.0.1:{port}", streams=3, rate=2_000, seconds=1, hold_seconds=0.1)
        await clients.run()
        return clients

    clients = asyncio.run(ask())
    packages, offsets, times = clients.events()
    assert (sorted(packages), offsets, len(times)) == ([1, 2, 3], [7, 7, 7], 3)
    told = clients.told()
    assert told["failed"] > 0
    assert told["per_second"] > 0
    assert 0 < told["p50_milliseconds"] <= told["p99_milliseconds"] <= told["greatest_milliseconds"]
    json.dumps(told)


def test_table_has_what_was_measured() -> None:
    quantiles = {"p50_seconds": 1.2, "p95_seconds": 1.6, "p99_seconds": 1.75}
    answers = {f"p{share}_milliseconds": 0.1 * share for share in (50, 95, 99)} | {"per_second": 1_000.0, "failed": 0}
    found = new_results(Options())
    found.runs = [
        {
            **{"part": "api", "contender": "ours", "round": 1, "rate": 2_000, "streams": 2_000, "answers": answers},
            **{"topic": quantiles, "client": quantiles, "cpu_share": 0.25, "resident_mib": 150},
        }
    ]
    row = api_table(found).splitlines()[-1]
    assert row == (
        "| 2,000 | 2,000 | 1,000 (0) | 5.0 / 9.5 / 9.9 | 1.20 / 1.60 / 1.75 | 1.20 / 1.60 / 1.75 | 0.25 | 150 |"
    )
    assert api_table(new_results(Options())) == ""
