"""Do the pipeline, `pts judge` and the oracle agree on every input?

    python -m lab.faults.fuzz [--count 1000000] [--seed 1]      so many records of a seed
    python -m lab.faults.fuzz --seed 1 --only 4711              one of them, and what all say of it

Compared are the verdicts, every decoded column of accepted records, and the details of the others, which the oracle
lacks. Prints how often each verdict occurred in each format. Ends with 0 when all agree. Ends with 1 when two differ,
after the smallest example that was found; or when some verdict never occurred, for then nothing was shown about it.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from pprint import pformat

from pyspark.sql import SparkSession

from lab.faults.judging import Judged, judged_by_all
from lab.faults.records import LANES, Lane, lane, record
from lab.faults.shrinking import shrunk, size
from pipelines.contracts.examples import ACCEPTED
from pipelines.contracts.rules import Reason
from pipelines.contracts.topics import SHIP_ROUTES
from pipelines.session import open_session
from pipelines.settings import Settings, Spark

PORTION = 100_000
"""Records of a lane in one Spark job: so many that its fixed cost does not matter, and all of them fit into memory."""

OF_TIMES = (Reason.FROM_THE_FUTURE, Reason.TOO_LATE)
"""Routes have no time, and so none of these."""

VERDICTS = (ACCEPTED, *(reason.value for reason in Reason))

Say = Callable[[str], None]
Decoder = tuple[str, str]
"""Names of a topic and of a wire format."""


@dataclass
class Outcome:
    """What a run has seen.

    Attributes:
        counts: Records by decoder and expected verdict.
        differing: On how many records they do not agree.
        smallest: Of each lane where some did, the one with the fewest bytes; its offset is its number.
    """

    counts: Counter[tuple[Decoder, str]] = field(default_factory=Counter)
    differing: int = 0
    smallest: dict[Lane, Judged] = field(default_factory=dict)

    def add(self, judged: Judged) -> None:
        self.counts[decoder(judged.lane), judged.expected.name] += 1
        if judged.differs:
            self.differing += 1
            self.smallest[judged.lane] = min(judged, self.smallest.get(judged.lane, judged), key=size)

    def missing(self) -> list[tuple[Decoder, str]]:
        """Verdicts that a decoder can come to and that never occurred."""
        possible = ((decoder(each), verdict) for each in LANES for verdict in verdicts_in(each))
        return [key for key in dict.fromkeys(possible) if not self.counts[key]]


def decoder(of: Lane) -> Decoder:
    return of.topic.name, of.wire_format


def verdicts_in(of: Lane) -> list[str]:
    """Every verdict that a record of the lane can get."""
    return [verdict for verdict in VERDICTS if of.topic != SHIP_ROUTES or verdict not in OF_TIMES]


def fuzz(spark: SparkSession, seed: int, count: int, say: Say) -> Outcome:
    """What the three judges say of records 0 to `count` of a seed."""
    outcome, done, began = Outcome(), 0, time.monotonic()
    for numbers in portions(count):
        records = [record(seed, number) for number in numbers]
        for judged in judged_by_all(spark, records, lane(numbers[0])):
            outcome.add(judged)
        done += len(numbers)
        say(f"{done:,} of {count:,} records, {outcome.differing:,} differ, {time.monotonic() - began:.0f} s")
    return outcome


def portions(count: int) -> Iterator[range]:
    """The numbers below `count`, in portions of one lane each."""
    stride = len(LANES)
    for start in range(0, count, PORTION * stride):
        end = min(count, start + PORTION * stride)
        yield from (range(first, end, stride) for first in range(start, min(end, start + stride)))


def smallest_examples(spark: SparkSession, outcome: Outcome, seed: int) -> Iterator[str]:
    """For each lane with a difference: an example made smaller, and the command that repeats the original."""
    for of, judged in outcome.smallest.items():
        example = shrunk(judged, partial(judged_by_all, spark, lane=of))
        yield f"{told(example)}\nRepeat: python -m lab.faults.fuzz --seed {seed} --only {judged.record.offset}"


def told(judged: Judged) -> str:
    """A record and its three verdicts, for a person."""
    of = judged.lane
    return (
        f"{of.topic.name} as {of.wire}\n{pformat(judged.record, width=120)}\n"
        f"pipeline: {pformat(judged.found, width=120)}, {judged.detail}\n"
        f"judge:    {pformat(judged.offline, width=120)}, {judged.offline_detail}\n"
        f"oracle:   {pformat(judged.expected, width=120)}"
    )


def table(outcome: Outcome) -> str:
    """How often each verdict occurred, by decoder."""
    decoders = list(dict.fromkeys(map(decoder, LANES)))
    head = f"{'':16}" + "".join(f"{' '.join(each):>18}" for each in decoders)
    rows = (
        f"{verdict:16}" + "".join(f"{outcome.counts[each, verdict]:>18,}" for each in decoders) for verdict in VERDICTS
    )
    return "\n".join((head, *rows))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab.faults.fuzz", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000, help="records to judge")
    parser.add_argument("--seed", type=int, default=1, help="of the records")
    parser.add_argument("--only", type=int, help="judge the record with this number, and no other")
    given = parser.parse_args(arguments)
    with session() as spark:
        if given.only is not None:
            (judged,) = judged_by_all(spark, [record(given.seed, given.only)], lane(given.only))
            _say(told(judged))
            return int(judged.differs)
        return _campaign(spark, given.seed, given.count)


def _campaign(spark: SparkSession, seed: int, count: int) -> int:
    outcome = fuzz(spark, seed, count, _say)
    _say(table(outcome))
    for example in smallest_examples(spark, outcome, seed):
        _say(f"\nThey differ: {example}")
    for (topic, wire_format), verdict in outcome.missing():
        _say(f"No record of {topic} as {wire_format} was {verdict}: nothing was shown about that.")
    return int(bool(outcome.differing or outcome.missing()))


@contextmanager
def session() -> Iterator[SparkSession]:
    """The product's session, its files in a folder that is deleted at the end."""
    with tempfile.TemporaryDirectory() as home:
        spark = open_session(Settings(home=Path(home), spark=Spark(driver_memory_mb=4096)), "fuzz")
        try:
            yield spark
        finally:
            spark.stop()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
