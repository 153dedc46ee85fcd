"""How producers may write the values of a topic: what settings choose, and the contract explains."""

from typing import Literal

WireFormat = Literal["csv", "json"]
"""A CSV record, or a JSON object."""
