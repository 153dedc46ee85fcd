"""Compares the product with its peers and the floor: see docs/benchmarks.md.

.venv/bin/python -m lab.benchmarks [--scans 1000000] [--only drain,freshness] [--contenders ours,flink] …
.venv/bin/python -m lab.benchmarks --docs var/benchmarks/results/<name>.json …
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lab.benchmarks import freshness
from lab.benchmarks.api import Load, api_of_ours
from lab.benchmarks.board import board_of_ours
from lab.benchmarks.comparison import comparison_of_ours
from lab.benchmarks.correction import correction_of_ours
from lab.benchmarks.drains import Drains
from lab.benchmarks.embedded_stack import stack_of_ours
from lab.benchmarks.flink import setup as flink
from lab.benchmarks.growth import growth_of_ours
from lab.benchmarks.options import CONTENDERS, HOME, LONG, PARTS, PEERS_TAKE_PART_IN, Options, chosen
from lab.benchmarks.pathway import peer as pathway
from lab.benchmarks.plot import charts
from lab.benchmarks.profile import profile_of_ours
from lab.benchmarks.results import Results, new_results
from lab.benchmarks.scale_out import by_executors, by_place
from lab.benchmarks.seeded_log import append_seeded, broker, dump
from lab.benchmarks.tables import markdown
from pipelines.processes.signals import signals_interrupt

FLINK_RATE = 2_000
"""The rate at which Flink's join is measured, too."""
BEGIN = "<!-- figures: begin, printed by `python -m lab.benchmarks --docs <results.json>` -->"
END = "<!-- figures: end -->"


def main() -> None:
    given = _arguments()
    if given.docs:
        sys.stdout.write(docs_block([Results.load(path) for path in given.docs]))
        return
    told = {name: value for name, value in vars(given).items() if value is not None and hasattr(LONG, name)}
    options = replace(LONG if given.long else Options(), **told)
    name = datetime.now(UTC).strftime("%Y-%m-%dT%H%M%SZ")
    results = new_results(options)
    path = HOME / "results" / f"{name}.json"
    logs = HOME / "results" / f"{name}-logs"
    logs.mkdir(parents=True)
    (HOME / "runs").mkdir(exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=HOME / "runs"))

    def record(run: dict[str, Any]) -> None:
        results.runs.append(run)
        results.save(path)
        _say(_line(run))

    try:
        with signals_interrupt():  # SIGTERM, too, ends all that was started
            _set_up_peers(options)
            measure(options, results, work, logs, record)
    finally:
        shutil.rmtree(work, ignore_errors=True)
        write_report(results, path)
    _say(f"Results: {path}, tables and plots beside it.")


def _set_up_peers(options: Options) -> None:
    if set(PEERS_TAKE_PART_IN).isdisjoint(options.parts):
        return
    if _has_flink(options):
        flink.set_up()
    if "pathway" in options.contenders and "drain-warm" in options.parts:
        pathway.set_up()


def measure(
    options: Options, results: Results, work: Path, logs: Path, record: Callable[[dict[str, Any]], None]
) -> None:
    """Runs the parts that were asked for. The drains share one broker and log; each steady feed has its own."""
    if any(part.startswith("drain") or part == "profile" for part in options.parts):
        with broker(work / "broker") as settings:
            results.set_log(append_seeded(settings, options.scans, options.packages))
            _say(f"Seeded log: {results.log}")
            dump(settings.bootstrap_servers, work / "log.parquet")
            drains = Drains(settings.bootstrap_servers, work / "log.parquet", work, logs, record)
            if "drain-cold" in options.parts:
                drains.cold(options.contenders, options.repeats)
            if "drain-warm" in options.parts:
                drains.warm(options.contenders, options.repeats, options.warm_ups)
            if "profile" in options.parts:
                seconds = profile_of_ours(settings.bootstrap_servers, work, logs)
                record({"part": "profile", "contender": "ours", "round": 1, "seconds": seconds})
    for round_ in range(1, options.repeats + 1):
        if "start" in options.parts and "ours" in options.contenders:
            run: dict[str, Any] = {"part": "start", "contender": "ours", "round": round_}
            record(run | freshness.starts_of_ours(work / f"start-{round_}", logs))
        if "freshness" in options.parts:
            for rate in options.rates:
                _freshness(options, rate, round_, work, logs, record)
        if "growth" in options.parts and "ours" in options.contenders:
            for packages, scans in options.sizes:
                found = growth_of_ours(work, logs, packages, scans, options.growth_rate, options.growth_seconds)
                record({"part": "growth", "contender": "ours", "round": round_, **found})
        if "correction" in options.parts and "ours" in options.contenders:
            found = correction_of_ours(work / f"correction-{round_}", logs, options.scans, options.packages)
            record({"part": "correction", "contender": "ours", "round": round_, **found})
        if "comparison" in options.parts and "ours" in options.contenders:
            found = comparison_of_ours(work / f"comparison-{round_}", logs, options.compared)
            record({"part": "comparison", "contender": "ours", "round": round_, **found})
        if "stack" in options.parts and "ours" in options.contenders:
            found = stack_of_ours(work / f"stack-{round_}")
            record({"part": "stack", "contender": "ours", "round": round_, **found})
        if "api" in options.parts and "ours" in options.contenders:
            for rate in options.rates:
                load = Load(options.packages, rate, options.seconds, options.streams, options.requests)
                found = api_of_ours(work / f"api-{rate}-{round_}", logs, load)
                record({"part": "api", "contender": "ours", "round": round_, "rate": rate, **found})
        if "board" in options.parts and "ours" in options.contenders:
            for packages, scans in options.sizes:
                found = board_of_ours(work / f"board-{round_}", logs, packages, scans)
                record({"part": "board", "contender": "ours", "round": round_, **found})
        if "executors" in options.parts and "ours" in options.contenders:
            folder = work / f"executors-{round_}"
            for found in by_executors(folder, logs, options.scans, options.packages, options.executors):
                record({"part": "executors", "contender": "ours", "round": round_, **found})
        if "store" in options.parts and "ours" in options.contenders:
            for rate in options.rates:
                for found in by_place(work / f"store-{rate}-{round_}", logs, options.packages, rate, options.seconds):
                    record({"part": "store", "contender": "ours", "round": round_, **found})


def _freshness(
    options: Options, rate: int, round_: int, work: Path, logs: Path, record: Callable[[dict[str, Any]], None]
) -> None:
    feeds = {}
    if "ours" in options.contenders:
        feeds["ours"] = freshness.freshness_of_ours
    if _has_flink(options) and rate == FLINK_RATE:
        feeds["flink-join"] = freshness.freshness_of_flink
    for name, run in feeds.items():
        folder = work / f"{name}-{rate}-{round_}"
        found = run(folder, logs, options.packages, rate, options.seconds)
        record({"part": "freshness", "contender": name, "round": round_, "rate": rate, **found})
        shutil.rmtree(folder, ignore_errors=True)


def _has_flink(options: Options) -> bool:
    return any(name.startswith("flink") for name in options.contenders)


def write_report(results: Results, path: Path) -> None:
    """The tables and plots of what was measured so far, beside the results."""
    results.save(path)
    path.with_suffix(".md").write_text(markdown(results))
    for kind, svg in charts(results).items():
        path.with_name(f"{path.stem}-{kind}.svg").write_text(svg)


def docs_block(measured: Sequence[Results]) -> str:
    """What stands between the markers in docs/benchmarks.md."""
    return "\n".join([BEGIN, *map(markdown, measured), END]) + "\n"


def _line(run: dict[str, Any]) -> str:
    values = (f"{key}={value:.2f}" for key, value in run.items() if isinstance(value, float))
    return f"{run['part']:12} {run['contender']:12} round {run['round']:2}  {'  '.join(values)}"


def _say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m lab.benchmarks", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--long", action="store_true", help="all parts, more rounds and rates: some hours")
    parser.add_argument("--scans", type=int, help="scans in the seeded log")
    parser.add_argument("--packages", type=int, help="packages of the world and of feeds")
    parser.add_argument("--repeats", type=int, help="rounds that count")
    parser.add_argument("--warm-ups", type=int, help="drains before a warm process counts")
    parser.add_argument("--rates", type=_numbers, help="scans/s of the feeds: 1000,2000")
    parser.add_argument("--seconds", type=int, help="length of each feed")
    parser.add_argument("--sizes", type=_sizes, help="of grown lakes: packages:scans,…")
    parser.add_argument("--compared", type=int, help="scans in each of two lakes compared")
    parser.add_argument("--growth-rate", type=int, help="scans/s of the feed on them")
    parser.add_argument("--growth-seconds", type=int, help="length of that feed")
    parser.add_argument("--streams", type=int, help="open streams of the API")
    parser.add_argument("--requests", type=int, help="requests/s to the API")
    parser.add_argument("--executors", type=_numbers, help="how many drain the log: 0,1,2,4")
    parser.add_argument("--only", dest="parts", type=_one_of(PARTS), help=f"parts: {', '.join(PARTS)}, or drain")
    parser.add_argument("--contenders", type=_one_of(CONTENDERS), help=f"who takes part: {', '.join(CONTENDERS)}")
    parser.add_argument(
        "--docs", type=Path, nargs="+", help="print the figures of results files for docs/benchmarks.md, and end"
    )
    return parser.parse_args()


def _numbers(given: str) -> tuple[int, ...]:
    return tuple(int(number) for number in given.split(","))


def _sizes(given: str) -> tuple[tuple[int, int], ...]:
    pairs = (pair.split(":") for pair in given.split(","))
    return tuple((int(packages), int(scans)) for packages, scans in pairs)


def _one_of(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    def parse(given: str) -> tuple[str, ...]:
        try:
            return chosen(given, known)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse


if __name__ == "__main__":
    main()
