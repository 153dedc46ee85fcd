"""How values are spelled, as regular expressions that Java and Python read alike: a whole text must match."""

from pipelines.contracts.topics import FieldKind

# One CSV field: quoted (quotes inside doubled) or bare. Possessive, so that a field of megabytes neither backtracks
# nor recurses.
QUOTED = '"[^"]*+(?:""[^"]*+)*+"'
BARE = r'[^",\r\n]*+'
CSV_FIELD = f"(?:{QUOTED}|{BARE})"

JSON_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'

NESTED = "a nested value"
"""The text of a JSON member that is an object or an array: no field may be one, and none is looked into."""

INTEGER = r"[+-]?[0-9]+"
MOMENT, OFFSET = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,9})?",
    r"(?:Z|[+-][0-9]{2}:[0-5][0-9])",
)

KIND_MISSED: dict[FieldKind, str] = {"integer": "not a 64-bit integer", "timestamp": "not a time"}
"""What a text is that does not parse; a text field always does."""
