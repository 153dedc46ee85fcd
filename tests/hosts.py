"""Hosts on one machine: network namespaces that a bridge joins, as a switch does.

`python -m tests.hosts broker` is `pts broker`, on the address of its host.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import pytest

from pipelines.cli import main as cli
from pipelines.stack import broker

ADDRESS = "BROKER_ADDRESS"
"""The variable that tells a broker where it is to be found."""

WITHOUT = ("unshare", "--mount", "sh", "-ec", 'mount -t tmpfs none "$0"; exec "$@"')
"""A command that hides a folder from the command that follows it."""

MAY_MAKE_HOSTS = os.geteuid() == 0 and shutil.which("ip") is not None
needs_root = pytest.mark.skipif(not MAY_MAKE_HOSTS, reason="only root may make hosts, with ip of iproute2")


@dataclass(frozen=True)
class Host:
    """One of them: its name, and its address for the others."""

    name: str
    address: str
    port: str

    def does(self, *command: str | Path) -> list[str]:
        """The command, to be run on this host."""
        return ["ip", "netns", "exec", self.name, *map(str, command)]

    def cut_off(self) -> None:
        """Nothing comes or goes any more, and no connection is closed."""
        _ip("link", "set", self.port, "down")

    def join(self) -> None:
        _ip("link", "set", self.port, "up")

    def signal(self, number: signal.Signals, word: str = "") -> None:
        """To all of its processes, or those with the word in their arguments."""
        for pid in map(int, _ip("netns", "pids", self.name).split()):
            with suppress(ProcessLookupError, FileNotFoundError):  # one that has just ended
                if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, number)


@contextmanager
def network(*names: str) -> Iterator[dict[str, Host]]:
    """Hosts with these names, whom this process reaches as well; they go at the end."""
    tag = token_hex(2)
    bridge, subnet = f"pts{tag}", f"10.{int(tag[:2], 16)}.{int(tag[2:], 16)}"
    made = {
        name: Host(f"pts-{tag}-{name}", f"{subnet}.{number}", f"p{tag}{number}")
        for number, name in enumerate(names, start=2)
    }
    try:
        _ip("link", "add", bridge, "type", "bridge")
        _ip("addr", "add", f"{subnet}.1/24", "dev", bridge)
        _ip("link", "set", bridge, "up")
        for host in made.values():
            _ip("netns", "add", host.name)
            _ip("link", "add", host.port, "type", "veth", "peer", "name", "eth0", "netns", host.name)
            _ip("link", "set", host.port, "master", bridge, "up")
            for arguments in (["addr", "add", f"{host.address}/24", "dev", "eth0"], ["link", "set", "eth0", "up"]):
                _ip("-n", host.name, *arguments)
            _ip("-n", host.name, "link", "set", "lo", "up")
        yield made
    finally:
        for host in made.values():
            subprocess.run(["ip", "netns", "del", host.name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", bridge], check=False, capture_output=True)


def _ip(*arguments: str) -> str:
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"ip {' '.join(arguments)}: {done.stderr}"
    return done.stdout


def main() -> None:
    """The embedded broker, found at an address that is not the loopback interface's."""
    folder = Path(os.environ["PTS_HOME"], "broker")
    shutil.copytree(broker.CONFIGURATION, folder, dirs_exist_ok=True)
    properties = folder / "server.properties"
    told = properties.read_text(encoding="utf-8")
    properties.write_text(told.replace("PLAINTEXT://127.0.0.1", f"PLAINTEXT://{os.environ[ADDRESS]}"), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(broker, "CONFIGURATION", folder)
        cli.main()


if __name__ == "__main__":
    main()
