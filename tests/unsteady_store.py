"""A store that is not always well: it stands between its clients and another store, in a process of its own.

    python -m tests.unsteady_store PORT UPSTREAM_PORT

`POST /faults` tells it what to do, as JSON: `lost` is a pattern of names for which the answer to the next PUT is lost
after it was done; `refused` is how many requests are answered by 503; `slow` is how many seconds each answer takes.
"""

import http.client
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import urlsplit

from pipelines.settings import Storage
from tests.ports import unused_ports

NOTHING = r"(?!)"
HOP_BY_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive", "date", "server"}


class UnsteadyStore:
    """The store, and its faults."""

    def __init__(self, storage: Storage, server: "subprocess.Popen[bytes]") -> None:
        self.storage = storage
        self.signal = server.send_signal

    def does(self, **faults: object) -> None:
        """From here on; what is not named goes well."""
        body = json.dumps(faults).encode()
        urllib.request.urlopen(f"{self.storage.endpoint}/faults", body, timeout=60).close()


@contextmanager
def unsteady(storage: Storage) -> Iterator[UnsteadyStore]:
    """The store until the block ends."""
    port, _ = unused_ports()
    command = [sys.executable, "-m", __name__, str(port), str(urlsplit(storage.endpoint).port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline(), "the store ended"
            reached = storage.model_copy(update={"endpoint": f"http://127.0.0.1:{port}"})
            yield UnsteadyStore(reached, server)
        finally:
            server.kill()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = 0
    faults: dict[str, object] = {}  # noqa: RUF012 one for all requests
    lock = Lock()  # of what is counted in them

    def handle_request(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path == "/faults":
            Handler.faults = json.loads(body)
            return self._answer(200, [], b"")
        time.sleep(float(str(self.faults.get("slow", 0))))
        if self._is_refused():
            return self._answer(503, [], b"<Error><Code>SlowDown</Code><Message>Reduce your rate.</Message></Error>")
        upstream = http.client.HTTPConnection("127.0.0.1", self.upstream)
        upstream.request(self.command, self.path, body, dict(self.headers))
        answer = upstream.getresponse()
        status, headers, content = answer.status, answer.getheaders(), answer.read()
        upstream.close()
        if self.command == "PUT" and self._is_lost():
            self.close_connection = True
            self.connection.close()
            return None
        return self._answer(status, headers, content)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_request  # noqa: N815 as http.server wants it

    def _is_refused(self) -> bool:
        with self.lock:
            left = int(str(self.faults.get("refused", 0)))
            self.faults["refused"] = left - 1
        return left > 0

    def _is_lost(self) -> bool:
        with self.lock:
            is_lost = re.search(str(self.faults.get("lost", NOTHING)), self.path) is not None
            if is_lost:
                del self.faults["lost"]
        return is_lost

    def _answer(self, status: int, headers: list[tuple[str, str]], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        length = next((value for name, value in headers if name.lower() == "content-length"), str(len(content)))
        self.send_header("Content-Length", length if self.command == "HEAD" else str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the name of the base class
        """Nothing is written."""


def main() -> None:
    port, Handler.upstream = map(int, sys.argv[1:])
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main()
