"""What a session of Spark refuses, and who can reach it."""

import os
import re
import socket
import struct
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from pipelines.errors import InvalidInput
from pipelines.kafka_security import is_loopback
from pipelines.session import CLUSTER, open_session
from pipelines.settings import Settings, Spark

STANDALONE = "spark://127.0.0.1:7077"
LISTENS = "0A"
"""The state of a socket in /proc/net/tcp."""


def test_standalone_cluster_without_a_secret_is_refused(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, spark=Spark(master=STANDALONE))
    with pytest.raises(InvalidInput, match=r"set spark\.authenticate\.secret in PTS_SPARK__SECRET_CONF"):
        open_session(settings)
    assert CLUSTER["spark.network.crypto.enabled"] == "true", (
        "with a secret, what driver and executors send is encrypted"
    )


def test_local_session_listens_on_the_loopback_interface_alone(spark: SparkSession) -> None:
    assert spark.range(3).count() == 3
    process = getattr(SparkContext._gateway, "proc", None)
    assert process is not None
    addresses = list(listening(process.pid))
    assert addresses, "its driver has a port for executors"
    assert [address for address in addresses if not is_loopback(address)] == []


def test_socket_that_listens_elsewhere_is_found() -> None:
    with socket.create_server(("0.0.0.0", 0)):
        assert "0.0.0.0" in listening(os.getpid())


def listening(pid: int) -> Iterator[str]:
    """Addresses on which a process listens."""
    links = (str(link.readlink()) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink())
    inodes = {found[1] for link in links if (found := re.fullmatch(r"socket:\[(\d+)\]", link))}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and fields[9] in inodes:
                yield address_of(fields[1].partition(":")[0])


def address_of(digits: str) -> str:
    """An address as the kernel writes it: words of 32 bits, each in this machine's order of bytes."""
    words = [int(digits[start : start + 8], 16) for start in range(0, len(digits), 8)]
    address = ip_address(b"".join(struct.pack("=I", word) for word in words))
    return str(getattr(address, "ipv4_mapped", None) or address)
