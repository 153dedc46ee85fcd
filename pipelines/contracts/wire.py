"""How a deployment's producers write the values of a topic."""

from dataclasses import dataclass

from pipelines.wire_format import WireFormat


@dataclass(frozen=True)
class Wire:
    """How the values of a topic are written.

    Attributes:
        format: One CSV record, or one JSON object.
        needs_offset: Whether a time that names no offset breaks the contract; otherwise it is one in UTC.
    """

    format: WireFormat
    needs_offset: bool = False

    def __str__(self) -> str:
        """The text by which a replay's record says how it read the log."""
        return f"{self.format}, times with an offset" if self.needs_offset else self.format
