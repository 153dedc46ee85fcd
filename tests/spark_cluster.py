"""A Spark standalone cluster of real processes on loopback, as `infra/spark/standalone.py` starts them."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.integration.pts_process import wait_for
from tests.ports import unused_ports

SECRET = {"spark.authenticate.secret": "hunter2"}
STANDALONE = "infra/spark/standalone.py"
STOP_SECONDS = 60


@dataclass(frozen=True)
class Cluster:
    """A master and workers, which share a secret.

    Attributes:
        url: The master's.
        folder: Where they say what they do: each worker in one of its name.
    """

    url: str
    folder: Path

    def variables(self, **properties: str) -> dict[str, str]:
        """The settings of a job on it, with these properties of Spark."""
        conf = {"spark.executor.memory": "700m", "spark.driver.host": "127.0.0.1"} | properties
        return {
            "PTS_SPARK__MASTER": self.url,
            "PTS_SPARK__CONF": json.dumps(conf),
            "PTS_SPARK__SECRET_CONF": json.dumps(SECRET),
        }


@contextmanager
def standalone(folder: Path, workers: Mapping[str, Sequence[str]]) -> Iterator[Cluster]:
    """Workers of one core each until the block ends: by name, what comes before their command."""
    secret = folder / "spark-secret.json"
    secret.write_text(json.dumps(SECRET))
    secret.chmod(0o600)
    port, page_port = map(str, unused_ports())
    found = Cluster(f"spark://127.0.0.1:{port}", folder)
    here = ["--host", "127.0.0.1"]
    worker = ["worker", *here, "--port", "0", "--cores", "1", "--memory", "1g", "--work-dir"]
    commands = {"master": [sys.executable, STANDALONE, "master", *here, "--port", port, "--webui-port", page_port]}
    for name, before in workers.items():
        commands[name] = [*before, sys.executable, STANDALONE, *worker, str(folder / name), found.url]
    started = []
    try:
        for name, command in commands.items():
            with (folder / f"{name}.log").open("wb") as out:
                environment = os.environ | {"PTS_SPARK__SECRET_CONF_FILE": str(secret)}
                started.append(subprocess.Popen(command, env=environment, stdout=out, stderr=out))
        wait_for(folder / "master.log", "Registering worker", count=len(workers))
        yield found
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(STOP_SECONDS)
