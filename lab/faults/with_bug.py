"""Runs a command of ours with a bug in every count of a window: `python -m lab.faults.with_bug stream --drain`."""

from functools import partial

from pipelines.cli import main as cli
from pipelines.graph import FLOWS
from pipelines.live import stream
from pipelines.maintenance import backfill
from tests.window_bug import with_bug

if __name__ == "__main__":
    for module, flows in ((stream, FLOWS), (backfill, backfill.WINDOW_FLOWS)):
        vars(module)["run"] = partial(module.run, flows=with_bug(flows))
    cli.main()
