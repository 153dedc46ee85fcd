"""python -m tests.golden CODE ARCHIVE [--killed]: a lake by the code of another folder, packed."""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

from lab.faults.gaps import TABLES, Gaps
from tests.brokers import embedded
from tests.golden.archive import LAKE, PARTITIONS, pack
from tests.integration.log_reader import read_log

FEED = ("simulate", "--packages", "40", "--rate", "0")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description="Packs a lake of an earlier commit.")
    parser.add_argument("code", type=Path, help="its work tree")
    parser.add_argument("archive", type=Path)
    parser.add_argument("--killed", action="store_true", help="in the end, SIGKILL of the job between two tables")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        settings = embedded(Path(work, "home"))
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PTS_")},
            "PTS_HOME": str(settings.home),
            "PTS_BROKER__PORT": str(settings.broker.port),
            "PTS_BROKER__CONTROLLER_PORT": str(settings.broker.controller_port),
            "PTS_LAKE": str(Path(work, LAKE)),
            "PTS_KAFKA__PARTITIONS": str(PARTITIONS),
            "PYTHONPATH": str(asked.code),
        }

        def run(*module: str) -> int:
            command = [sys.executable, "-P", "-m", *module]
            return subprocess.run(command, env=environment, cwd=asked.code, check=False).returncode

        def pts(*arguments: str) -> None:
            assert run("pipelines.cli", *arguments) == 0, arguments

        def kill_between_tables() -> None:
            gaps = Gaps(f"{work}/{LAKE}")
            for moment in count(1):
                assert run("tests.saboteur", str(moment), "stream") == -signal.SIGKILL
                if gaps.of_kill() in TABLES:
                    return

        pts("up", "broker", "--detach")
        try:
            pts("topics")
            for record_count in ("300", "600"):
                pts(*FEED, "--count", record_count, "--resume")
                pts("stream", "--drain")
            if asked.killed:
                pts(*FEED, "--count", "900", "--resume")
                kill_between_tables()
            pack(asked.archive.resolve(), Path(work, LAKE), read_log(settings.bootstrap_servers))
        finally:
            pts("down")


if __name__ == "__main__":
    main()
