"""The fault campaign: `make faults`.

python -m lab.faults                            one case of each fault, and those in which something was found
python -m lab.faults --cases 500 --seed 1000    so many more than the kept ones, the seeds from there on
python -m lab.faults kill-job:17                one case again
python -m lab.faults --only kill-job --only kill-broker --cases 100
python -m lab.faults --tell var/faults/*.json   no faults: the table of campaigns that were
"""

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

from lab.faults.campaign import KEPT, KINDS, Case, Verdict, cases, judged
from lab.faults.gaps import GAPS, OF_TASKS
from pipelines.processes.signals import signals_interrupt

RESULTS = Path("var/faults")


def main() -> None:
    parser = argparse.ArgumentParser(description="Faults on the real stack; nothing may be lost.")
    parser.add_argument("case", nargs="*", help="kind:seed, of a case that is to be repeated")
    parser.add_argument("--cases", type=int, help="how many beside the kept ones; without, one of each fault")
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--only", action="append", default=[], choices=list(KINDS), help="this fault; may be repeated")
    parser.add_argument("--tell", nargs="+", default=[], type=Path, help="only tell what these files say")
    asked = parser.parse_args()
    try:
        repeated = [Case.parse(text) for text in asked.case]
    except ValueError as error:
        parser.error(str(error))
    if asked.tell:
        show([Verdict(**found) for file in asked.tell for found in json.loads(file.read_text())])
        return
    RESULTS.mkdir(parents=True, exist_ok=True)
    results = RESULTS / f"{datetime.now(UTC):%Y-%m-%dT%H%M%S}-{os.getpid()}.json"
    verdicts: list[Verdict] = []
    try:
        with signals_interrupt():
            for case in repeated or chosen(asked.cases, asked.seed, tuple(asked.only)):
                verdict = judged(case)
                say(f"{verdict.case:28} {verdict.outcome:8} {verdict.seconds:6.1f} s")
                if verdict.outcome == "broken":
                    say(verdict.said)
                verdicts.append(verdict)
                results.write_text(json.dumps([verdict.as_json() for verdict in verdicts], indent=2))
    finally:  # a long campaign that is ended tells how far it came
        show(verdicts)
        say(f"Every case is in {results}.")
    sys.exit(any(verdict.outcome == "broken" for verdict in verdicts))


def chosen(count: int | None, seed: int, only: tuple[str, ...]) -> Iterator[Case]:
    """The kept cases of the faults that are asked for, then so many more; without a number, one of each fault."""
    kinds = only or tuple(KINDS)
    kept = (case for case in KEPT if case.kind in kinds)
    yield from dict.fromkeys((*kept, *cases(len(kinds) if count is None else count, seed, kinds)))


def show(verdicts: list[Verdict]) -> None:
    """One line for each fault: how often it held, and how soon the tables went on; and one for each gap in which the
    live job was killed.
    """
    by_kind: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        by_kind[verdict.case.partition(":")[0]].append(verdict)
    say("\n| fault | cases | held | faults | recoveries | median s | most s |\n|---|---:|---:|---:|---:|---:|---:|")
    for kind, found in by_kind.items():
        seconds = [each for verdict in found for each in verdict.recovered_after]
        faults = sum(verdict.fault_count for verdict in found)
        held = sum(verdict.outcome == "held" for verdict in found)
        shown = f"{median(seconds):.1f} | {max(seconds):.1f}" if seconds else "|"
        say(f"| {kind} | {len(found)} | {held} | {faults} | {len(seconds)} | {shown} |")
    if kills := Counter(gap for verdict in verdicts for gap in verdict.gaps):
        say("\n| the live job was killed | times | of these, in a batch that Spark writes |\n|---|---:|---:|")
        for gap in GAPS:
            of_tasks = kills[gap + OF_TASKS]
            say(f"| {gap} | {kills[gap] + of_tasks} | {of_tasks} |")


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
