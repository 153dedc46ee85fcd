"""Runs a command of ours with a bug in every count of a window: `python -m lab.faults.with_bug stream --drain`."""

from pipelines.cli import main as cli
from tests.window_bug import planted_bug

if __name__ == "__main__":
    with planted_bug():
        cli.main()
