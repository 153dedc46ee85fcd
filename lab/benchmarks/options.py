"""What is measured, how often and at which size; and where everything that a benchmark makes is put."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
HOME = ROOT / "var" / "benchmarks"
"""Ignored by git. `peers` holds what was downloaded for the peers, `results` the figures, `runs` the data of a run."""

PARTS = (
    "drain-cold",
    "drain-warm",
    "profile",
    "freshness",
    "start",
    "growth",
    "correction",
    "comparison",
    "stack",
    "api",
    "board",
    "executors",
    "store",
)
PEERS_TAKE_PART_IN = ("drain-cold", "drain-warm", "freshness")
CONTENDERS = ("ours", "flink-light", "flink-full", "tutorial", "pathway", "plain-loop", "spark-noop", "duckdb")
COLD = ("ours", "flink-light", "flink-full", "spark-noop")
"""Those whose cold drain is measured, too."""

SIZES = (
    *((packages, 1_000_000) for packages in (10_000, 100_000, 1_000_000, 5_000_000)),
    *((100_000, scans) for scans in (10_000_000, 100_000_000)),
)
"""First more and more packages, then more and more history."""


@dataclass(frozen=True)
class Options:
    """Sizes of a benchmark, by default of one that ends within three quarters of an hour.

    Attributes:
        scans: Records of ship-events in the seeded log.
        packages: Packages of the simulated world, and of the steady feed.
        repeats: Measured runs of each contender.
        warm_ups: Drains that a warm process has done before the first one that counts.
        rates: Scans per second of the steady feeds.
        seconds: How long each of them lasts; the second half counts.
        sizes: (packages, scans) of the lakes on which a batch's time and the board's pages are measured.
        compared: Scans in each of the two lakes that are compared.
        growth_rate: Scans per second of the feed on them.
        growth_seconds: How long that lasts; the second half counts.
        streams: Open streams of the API.
        requests: Requests per second to the API.
        executors: Numbers of executors by which the seeded log is drained; 0: within the job.
        parts: Those of `PARTS` that are run.
        contenders: Those of `CONTENDERS` that take part.
    """

    scans: int = 1_000_000
    packages: int = 100_000
    repeats: int = 2
    warm_ups: int = 1
    rates: tuple[int, ...] = (2_000,)
    seconds: int = 120
    sizes: tuple[tuple[int, int], ...] = SIZES
    compared: int = 10_000_000
    growth_rate: int = 1_000
    growth_seconds: int = 150
    streams: int = 2_000
    requests: int = 1_000
    executors: tuple[int, ...] = (0, 1, 2, 4)
    parts: tuple[str, ...] = ("drain-cold", "drain-warm", "freshness", "start")
    contenders: tuple[str, ...] = CONTENDERS


LONG = Options(repeats=3, rates=(1_000, 2_000, 5_000, 10_000), seconds=240, parts=PARTS)
"""Everything, some hours."""


def chosen(given: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The known names that are given, or begin with what is given: `drain` is `drain-cold` and `drain-warm`.

    Raises `ValueError` for a name that fits none.
    """
    words = [word.strip() for word in given.split(",") if word.strip()]
    for word in words:
        if not any(_fits(name, word) for name in known):
            raise ValueError(f"There is no {word!r}. There are: {', '.join(known)}.")
    return tuple(name for name in known if any(_fits(name, word) for word in words))


def _fits(name: str, word: str) -> bool:
    return name == word or name.startswith(f"{word}-")
