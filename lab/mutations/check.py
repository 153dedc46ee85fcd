"""Breaking a copy of the code, and running a test there."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lab.mutations.mutation import Mutation

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("pipelines", "tests", "lab", "infra", "pyproject.toml")
LONGEST_SECONDS = 1800
"""A test that takes longer has no verdict: it would mean a mutation that never ends."""

ALL_PASSED, SOME_FAILED = 0, 1
"""pytest's exit codes for verdicts. Any other says that it could not run what it was asked to."""


NO_CODE = re.compile(r"^E +(NameError|SyntaxError|IndentationError|ImportError|UnboundLocalError): .*$", re.MULTILINE)
"""A test that fails so says nothing of the rule."""


class Unusable(Exception):
    """Neither killed nor survived: the list, the copy or the test is wrong."""


@dataclass(frozen=True)
class Outcome:
    """What became of a mutation."""

    verdict: Literal["killed", "SURVIVED"]
    seconds: float
    reason: str
    """How pytest names the failure, in a line."""


@contextmanager
def copied_tree(source: Path = ROOT) -> Iterator[Path]:
    """A folder with all that tests need, from which Python imports the product and the tests.

    The product is installed in the environment so that it is imported from the repository itself; `python -m` puts the
    working folder before that. Raises `Unusable` when it does not.
    """
    with tempfile.TemporaryDirectory(prefix="pts-mutation-") as folder:
        tree = Path(folder).resolve()
        for name in COPIED:
            if (source / name).is_dir():
                shutil.copytree(source / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source / name, tree / name)
        imported = _python(
            tree, "-c", "import pipelines, tests; print(pipelines.__file__, tests.__file__)"
        ).stdout.split()
        if imported != [str(tree / name / "__init__.py") for name in ("pipelines", "tests")]:
            raise Unusable(f"The copy in {tree} is not what is imported, but {imported}.")
        yield tree


def run_tests(tree: Path, tests: Iterable[str]) -> subprocess.CompletedProcess[str]:
    """Runs tests of the copy, up to the first failure."""
    options = ("-q", "-x", "-p", "no:cacheprovider", f"--basetemp={tree / 'tmp'}")
    return _python(tree, "-m", "pytest", *options, *tests)


def checked(mutation: Mutation, source: Path = ROOT) -> Outcome:
    """Whether the mutation's test notices it in a copy of the source.

    Raises `Unusable` for a mutation that does not apply, and for a test that is not there or cannot be collected.
    """
    with copied_tree(source) as tree:
        try:
            (tree / mutation.path).write_text(mutation.applied(tree), encoding="utf-8")
        except (OSError, ValueError) as error:
            raise Unusable(str(error)) from error
        began = time.monotonic()
        done = run_tests(tree, [mutation.test])
        seconds = time.monotonic() - began
    if done.returncode not in (ALL_PASSED, SOME_FAILED):
        raise Unusable(f"pytest ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    if told := NO_CODE.search(done.stdout):
        raise Unusable(f"What is put in its place is no code: {told[0]}")
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Outcome("killed" if done.returncode == SOME_FAILED else "SURVIVED", seconds, " ".join(failed))


def _python(tree: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Without bytecode: Python tells a changed file by its second and its size, and a mutation may keep both."""
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "240"}
    try:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=tree,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise Unusable(f"It did not end within {LONGEST_SECONDS} s.") from error
