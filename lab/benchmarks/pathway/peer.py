"""How Pathway is run: a Python of its own under var/benchmarks/peers, a thread per core.

Nothing of it belongs to the product. Versions and checksums are in `requirements.txt`, made by `uv pip compile
--generate-hashes` from the one line `pathway==0.33.0`; its licence is the Business Source License 1.1.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

import duckdb

from lab.benchmarks.driving import Command
from lab.benchmarks.made_once import PEERS, digest_of, once

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
PYTHON = PEERS / "pathway" / "bin" / "python"
CORES = str(len(os.sched_getaffinity(0)))


def set_up() -> None:
    """Installs what is missing. Ends the process with a sentence when it cannot."""
    once(PEERS / "pathway", digest_of(REQUIREMENTS), _install)


def _install(folder: Path) -> None:
    sys.stderr.write("benchmarks: installing Pathway (1.6 GB with all that it needs)\n")
    venv.create(folder, with_pip=True)
    command = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--require-hashes"]
    if subprocess.run([*command, "--requirement", str(REQUIREMENTS)], check=False).returncode:
        sys.exit("benchmarks: pip could not install Pathway. Check that the Python package index can be reached.")


def version() -> str:
    """Pathway's version."""
    pinned = next(line for line in REQUIREMENTS.read_text().splitlines() if line.startswith("pathway=="))
    return pinned.partition("==")[2].split()[0]


def command() -> Command:
    """The process that makes the tables of `tables.py`, once per request."""
    return Command((str(PYTHON), str(HERE / "tables.py")), {"PATHWAY_THREADS": CORES})


def rows(folder: Path) -> dict[str, int]:
    """What its files of changes add up to, by table."""
    return {file.stem: _sum_of_changes(file) for file in sorted(folder.glob("*.jsonl"))}


def _sum_of_changes(file: Path) -> int:
    row = duckdb.execute(f"SELECT sum(diff) FROM read_ndjson('{file}', columns = {{diff: 'INTEGER'}})").fetchone()
    return int(row[0] or 0) if row else 0
