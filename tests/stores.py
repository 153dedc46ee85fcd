"""An object store that knows conditional writes, for tests: moto's, in a process of its own, as delta-rs needs it."""

import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from uuid import uuid4

from pipelines.io.delta import duck
from pipelines.io.storage import access
from pipelines.secret import Secret
from pipelines.settings import Storage
from tests.ports import unused_ports

PATIENCE_SECONDS = 60.0


@contextmanager
def object_store(folder: Path) -> Iterator[Storage]:
    """The store until the block ends, and how it is reached. What it says stands in a file of the folder."""
    port, _ = unused_ports()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (folder / "store.log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            storage = Storage(
                endpoint=f"http://127.0.0.1:{port}",
                region="us-east-1",
                access_key_id="tests",
                secret_access_key=Secret("tests"),
            )
            _await(storage, server)
            yield storage
        finally:
            server.kill()


@contextmanager
def reached(storage: Storage) -> Iterator[None]:
    """Lets this process reach the store within the block."""
    access.reach(storage)
    duck._database.cache_clear()  # what it has reached, it goes on to reach
    yield
    access.reach(Storage())
    duck._database.cache_clear()


def new_bucket(storage: Storage) -> str:
    """The URI of a bucket of the caller's own."""
    name = f"bucket-{uuid4().hex}"
    urllib.request.urlopen(urllib.request.Request(f"{storage.endpoint}/{name}", method="PUT"))
    return f"s3://{name}"


def _await(storage: Storage, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            urllib.request.urlopen(storage.endpoint).close()
        except URLError:
            assert server.poll() is None, "the store ended"
            assert time.monotonic() < deadline, "the store does not answer"
            time.sleep(0.05)
        else:
            return
