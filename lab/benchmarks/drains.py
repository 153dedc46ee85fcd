"""How long does it take from a log to tables? Every contender drains the same log, cold and with a warm process.

The runs are interleaved: each round has one of each contender, one after the other. Before a warm process counts, it
has done `warm_ups` drains. A warm run of ours is also a full rebuild: an empty lake, and the whole log.
"""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab.benchmarks.contenders import CONTENDERS, Contender, Drain
from lab.benchmarks.driving import LIMIT_SECONDS, Driver, RunFailed, end
from lab.benchmarks.options import COLD
from lab.benchmarks.processes import Tree, machine_cpu_seconds

Record = Callable[[dict[str, Any]], None]


class Drains:
    """Runs drains of one log in new folders under `work`, each deleted when it has been looked at."""

    def __init__(self, servers: str, dump: Path, work: Path, logs: Path, record: Record) -> None:
        self._template = Drain(servers, str(dump), "")
        self._work = work
        self._logs = logs
        self._record = record
        self._number = 0

    def cold(self, names: tuple[str, ...], repeats: int) -> None:
        """From the start of a process to its end."""
        for round_ in range(1, repeats + 1):
            for contender in (CONTENDERS[name] for name in names if name in COLD):
                with self._new_folder(contender) as drain:
                    found = self._cold_run(contender, drain)
                    _check(contender, drain)
                    self._record({"part": "drain-cold", "contender": contender.name, "round": round_, **found})

    def warm(self, names: tuple[str, ...], repeats: int, warm_ups: int) -> None:
        """With processes that stay. Rounds up to 0 are the warm-up."""
        with ExitStack() as stack:
            running = [stack.enter_context(self._driver(CONTENDERS[name])) for name in names]
            for round_ in range(1 - warm_ups, repeats + 1):
                for contender, driver, tree in running:
                    with self._new_folder(contender) as drain:
                        found = self._warm_run(contender, driver, tree, drain)
                        _check(contender, drain)
                        if round_ == 1 - warm_ups:
                            found["rows"] = contender.rows(drain)
                        self._record({"part": "drain-warm", "contender": contender.name, "round": round_, **found})

    def _cold_run(self, contender: Contender, drain: Drain) -> dict[str, Any]:
        log = self._logs / f"{contender.name}-cold.log"
        request = contender.request(drain)
        started, others = time.monotonic(), machine_cpu_seconds()
        with ExitStack() as stack:
            if contender.cold:
                with log.open("a") as out:
                    process = contender.cold(drain).start(log, stdout=out)
                stack.callback(end, process)
                tree = Tree(process.pid)
                stack.enter_context(tree.followed())
                if process.wait(LIMIT_SECONDS):
                    raise RunFailed(f"{contender.name} ended with {process.returncode}. Its log: {log}")
            else:
                driver = Driver(contender.name, contender.driver(drain), log)
                stack.callback(driver.kill)
                tree = Tree(driver.process.pid)
                stack.enter_context(tree.followed())
                driver.ask(request)
                driver.close()
            seconds = time.monotonic() - started
        return {"seconds": seconds, **_costs(tree, tree.cpu_seconds(), others)}

    def _warm_run(self, contender: Contender, driver: Driver, tree: Tree, drain: Drain) -> dict[str, Any]:
        request = contender.request(drain)
        before, others = tree.cpu_seconds(), machine_cpu_seconds()
        with tree.followed():
            answer = driver.ask(request)
        batches = [line["duration_seconds"] for line in answer["lines"] if "batch_id" in line]
        found = {"seconds": answer["seconds"], **_costs(tree, tree.cpu_seconds() - before, others)}
        return {**found, "batch_seconds": batches} if batches else found

    @contextmanager
    def _driver(self, contender: Contender) -> Iterator[tuple[Contender, Driver, Tree]]:
        home = self._work / f"{contender.name}-home"
        command = contender.driver(replace(self._template, folder=str(home)))
        driver = Driver(contender.name, command, self._logs / f"{contender.name}-warm.log")
        try:
            yield contender, driver, Tree(driver.process.pid)
            driver.close()
        finally:
            driver.kill()
            shutil.rmtree(home, ignore_errors=True)

    @contextmanager
    def _new_folder(self, contender: Contender) -> Iterator[Drain]:
        self._number += 1
        drain = replace(self._template, folder=str(self._work / f"{contender.name}-{self._number}"))
        try:
            yield drain
        finally:
            shutil.rmtree(drain.folder, ignore_errors=True)


def _check(contender: Contender, drain: Drain) -> None:
    if contender.check:
        contender.check(drain)


def _costs(tree: Tree, cpu_seconds: float, others_before: float) -> dict[str, Any]:
    """`other_cpu_seconds`: by all other processes of this machine meanwhile, the broker among them."""
    return {
        "cpu_seconds": cpu_seconds,
        "other_cpu_seconds": machine_cpu_seconds() - others_before - cpu_seconds,
        "resident_mib": tree.greatest_resident_mib(),
    }
