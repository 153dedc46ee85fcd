"""What `pts seal` tells its observers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class SealedBatch:
    """Records that were moved in one transaction, and how it stands after it.

    Attributes:
        records: By kept topic and outcome (`metrics.SEAL_OUTCOMES`); empty when there was nothing to move.
        ranges: What was read of intake topics: topic, partition, first offset, and offset after the last.
        behind: By intake topic and partition, how many offsets are not moved yet, as far as the broker has said.
    """

    records: Mapping[tuple[str, str], int]
    ranges: tuple[tuple[str, int, int, int], ...]
    behind: Mapping[tuple[str, int], int]


class SealObserver(Protocol):
    """Who is told of each batch, several times a second, and is not to hold it up."""

    def batch_done(self, batch: SealedBatch) -> None:
        """Is told of a batch that is committed."""
