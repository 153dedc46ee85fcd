"""An object store that keeps to conditional writes, for tests: moto's, in a process of its own (`store_server.py`)."""

import re
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

from pipelines.io.delta import duck
from pipelines.io.storage import access
from pipelines.secret import Secret
from pipelines.settings import Storage
from tests.hosts import Host
from tests.ports import unused_ports

PATIENCE_SECONDS, ATTEMPT_SECONDS = 60.0, 5.0
LOG = "store.log"


@contextmanager
def object_store(folder: Path, host: Host | None = None, certificates: Path | None = None) -> Iterator[Storage]:
    """The store until the block ends, on this machine or on one of its hosts, and how it is reached: by TLS with the
    certificates of a folder, as `renew` makes them. What it says stands in a file of the folder.
    """
    port, _ = unused_ports()
    address = host.address if host else "127.0.0.1"
    command = [sys.executable, "-m", "tests.store_server", "-H", address, "-p", str(port)]
    if certificates:
        command += ["--ssl-cert", str(certificates / "broker.pem"), "--ssl-key", str(certificates / "broker.pem")]
    command = host.does(*command) if host else command
    with (folder / LOG).open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as server:
        try:
            storage = Storage(
                endpoint=f"{'https' if certificates else 'http'}://{address}:{port}",
                ca_file=certificates and certificates / "ca.pem",
                allow_plaintext=bool(host),
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
    duck.shared_database.cache_clear()  # what it has reached, it goes on to reach
    yield
    access.reach(Storage())
    duck.shared_database.cache_clear()


def new_bucket(storage: Storage) -> str:
    """The URI of a bucket of the caller's own."""
    name = f"bucket-{uuid4().hex}"
    asked = urllib.request.Request(f"{storage.endpoint}/{name}", method="PUT")
    urllib.request.urlopen(asked, timeout=PATIENCE_SECONDS, context=_context(storage)).close()
    return f"s3://{name}"


def requests(folder: Path) -> list[str]:
    """What the store of a folder was asked so far, oldest first, as it says; nothing where no store was."""
    log = folder / LOG
    return re.findall(r"((?:GET|HEAD|PUT|POST|DELETE) /\S+)", log.read_text()) if log.exists() else []


def _context(storage: Storage) -> ssl.SSLContext | None:
    return ssl.create_default_context(cafile=storage.ca_file) if storage.ca_file else None


def _await(storage: Storage, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            urllib.request.urlopen(storage.endpoint, timeout=ATTEMPT_SECONDS, context=_context(storage)).close()
        except OSError:
            assert server.poll() is None, "the store ended"
            assert time.monotonic() < deadline, "the store does not answer"
            time.sleep(0.05)
        else:
            return
