"""The commands of the page that names a test, for that test."""

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.calling import Call
from tests.docs.pages import ROOT, Block, run_blocks
from tests.integration.pts_process import SHORT_LIVED

TIMEOUT_SECONDS = 600
TELLING = """.venv/bin/pts() { printf '%s\\0' "$@"; echo; }"""


class Documented:
    """Blocks of a page, in their order, that a test is to run: each of them once.

    Attributes:
        folder: Where they are run. `.venv` is there, and `var` will be.
        left: What was not run yet.
    """

    def __init__(self, blocks: list[Block], folder: Path) -> None:
        self.left = blocks
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("PTS_")}
        self.environment["PTS_SPARK__CONF"] = json.dumps(SHORT_LIVED)

    def take(self, beginning: str) -> str:
        """The text of the next block, which begins so, for a test that runs it in its own way."""
        assert self.left, f"no block is left that begins with {beginning!r}"
        block = self.left.pop(0)
        assert block.text.startswith(beginning), f"{block} begins otherwise: {block.text}"
        return block.text

    def run(self, beginning: str, variables: Mapping[str, str] | None = None, code: int = 0) -> str:
        """Runs the next block, which begins so, in a shell that ends at the first error; what it said."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.take(beginning)],
            cwd=self.folder,
            env=self.environment | dict(variables or {}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=TIMEOUT_SECONDS,
        )
        assert done.returncode == code, done.stdout[-3000:]
        return done.stdout

    def call(self, beginning: str, call: Call, code: int = 0) -> str:
        """The same for a block of `pts` commands that a process proves no better: the shell says what it would start,
        and that is run within the tests' own process.
        """
        told = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"{TELLING}\n{self.take(beginning)}"],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        commands = [line.split("\0")[:-1] for line in told.stdout.splitlines()]
        assert commands, "the block starts nothing"
        said = ""
        for arguments in commands:
            ended = call(arguments, self.environment)
            said += ended.stdout + ended.stderr
            if ended.returncode:
                break
        assert ended.returncode == code, said[-3000:]
        return said


@pytest.fixture
def documented(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Documented]:
    """The blocks that name this test. It fails if it leaves one of them out."""
    (tmp_path / ".venv").symlink_to(ROOT / ".venv")
    made = Documented([each for each in run_blocks() if each.test == request.node.nodeid], tmp_path)
    assert made.left, "no page names this test"
    yield made
    assert not made.left, f"left out: {', '.join(map(str, made.left))}"
