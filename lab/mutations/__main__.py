"""Is there a test for every rule? Each is broken in a copy of the code, and a test must fail there.

    python -m lab.mutations [text]      those whose rule, fault, file or test contain the text; without, all
    python -m lab.mutations --docs      the page docs/mutations.md

Ends with 0 when every mutation was killed, with 1 when one survived, with 2 when the check itself could not be made.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from functools import partial
from multiprocessing.pool import ThreadPool
from pathlib import Path

from lab.mutations import MUTATIONS, Mutation
from lab.mutations.check import Outcome, Unusable, checked, copied_tree, run_tests
from lab.mutations.page import mutations_page

CORES = len(os.sched_getaffinity(0))


def main(arguments: Sequence[str] | None = None, mutations: Sequence[Mutation] = MUTATIONS) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.mutations", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("text", nargs="?", default="", help="only mutations that contain it, in whatever case")
    parser.add_argument("--docs", action="store_true", help="print docs/mutations.md, and check nothing")
    parser.add_argument("--why", action="store_true", help="tell how each test failed")
    parser.add_argument(
        "--jobs", type=int, default=len(os.sched_getaffinity(0)), help="how many at once; one for each core"
    )
    given = parser.parse_args(arguments)
    if given.docs:
        sys.stdout.write(mutations_page(mutations))
        return 0
    chosen = [mutation for mutation in mutations if given.text.casefold() in _haystack(mutation)]
    if not chosen:
        _say(f"No mutation contains {given.text!r}.")
        return 2
    with copied_tree() as source:  # what is edited meanwhile does not matter
        return _check(chosen, source, given.jobs, tells_why=given.why)


def _check(mutations: Sequence[Mutation], source: Path, jobs: int, *, tells_why: bool) -> int:
    began = time.monotonic()
    if not _pass_unmutated(sorted({mutation.test for mutation in mutations}), source):
        return 2
    survived = unusable = 0
    with ThreadPool(jobs) as pool:
        for mutation, outcome in zip(mutations, pool.imap(partial(_outcome, source=source), mutations), strict=True):
            if isinstance(outcome, Unusable):
                unusable += 1
                _say(f"UNUSABLE         {mutation.name}\n{outcome}")
                continue
            survived += outcome.verdict == "SURVIVED"
            _say(f"{outcome.verdict:8} {outcome.seconds:5.0f} s  {mutation.name}")
            if tells_why and outcome.reason:
                _say(f"                  {outcome.reason}")
    killed = len(mutations) - survived - unusable
    minutes = (time.monotonic() - began) / 60
    _say(f"{len(mutations)} mutations: {killed} killed, {survived} survived, {unusable} unusable, in {minutes:.0f} min")
    return 2 if unusable else int(bool(survived))


def _outcome(mutation: Mutation, source: Path) -> Outcome | Unusable:
    try:
        return checked(mutation, source)
    except Unusable as error:
        return error


def _pass_unmutated(tests: Sequence[str], source: Path) -> bool:
    began = time.monotonic()
    with copied_tree(source) as tree:
        done = run_tests(tree, tests)
    if done.returncode:
        _say(f"Nothing is mutated yet, and a test fails:\n{done.stdout}{done.stderr}")
        return False
    _say(f"{len(tests)} tests pass unmutated, in {time.monotonic() - began:.0f} s")
    return True


def _haystack(mutation: Mutation) -> str:
    return "\n".join((mutation.rule, mutation.broken, mutation.path, mutation.test)).casefold()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
