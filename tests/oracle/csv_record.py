"""One CSV record by RFC 4180, to the letter."""

from tests.oracle.rejection import RejectedError


def parse_csv(text: str) -> list[str]:
    """The fields of `text`, which must be exactly one record with at most one line break after it.

    Line breaks within quotes are data, spaces are data, and so is every other character that RFC 4180 does not use.

    Raises:
        RejectedError: `malformed`, for a quote or a line break in an unquoted field, text after a closing quote,
            a quote that is never closed, or anything after the record.
    """
    text = _without_final_line_break(text)
    fields: list[str] = []
    position = 0
    while True:
        field, position = _quoted(text, position) if text.startswith('"', position) else _unquoted(text, position)
        fields.append(field)
        if position == len(text):
            return fields
        if text[position] != ",":
            raise RejectedError("malformed")
        position += 1


def _without_final_line_break(text: str) -> str:
    """A break that belongs to a quoted field can be last only if the quote is never closed: malformed either way."""
    if text.endswith("\r\n"):
        return text[:-2]
    return text.removesuffix("\n")


def _unquoted(text: str, start: int) -> tuple[str, int]:
    """The field from `start` to the next comma, and where it ends."""
    end = text.find(",", start)
    if end < 0:
        end = len(text)
    field = text[start:end]
    if '"' in field or "\r" in field or "\n" in field:
        raise RejectedError("malformed")
    return field, end


def _quoted(text: str, start: int) -> tuple[str, int]:
    """The field whose opening quote is at `start`, and the position after its closing quote."""
    pieces: list[str] = []
    position = start + 1
    while True:
        quote = text.find('"', position)
        if quote < 0:
            raise RejectedError("malformed")
        pieces.append(text[position:quote])
        if not text.startswith('"', quote + 1):
            return '"'.join(pieces), quote + 1
        position = quote + 2
