"""One JSON object by RFC 8259, to the letter, with numbers left as they are spelled."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tests.oracle.rejection import RejectedError

MAX_JSON_DEPTH = 999
"""Deepest nesting that is read; the outer object counts as 1."""

MAX_NUMBER_DIGITS = 1_000
MAX_NAME_CHARACTERS = 50_000
"""In UTF-16, where a character beyond the basic plane counts as two."""

_TOKEN = re.compile(
    r"[ \t\n\r]*(?:"
    r"(?P<mark>[{}\[\]:,])"
    r'|"(?P<string>[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*)"'
    r"|(?P<number>-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>true|false|null)"
    r"|(?P<end>\Z))"
)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_SHORT_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class Number:
    """A JSON number as it is spelled: `1`, `1.0` and `1e0` stay apart."""

    literal: str


JsonValue = None | bool | str | Number | list["JsonValue"] | dict[str, "JsonValue"]
_Token = tuple[str, str]


def parse_json_object(text: str) -> dict[str, JsonValue]:
    """The members of the object that `text` consists of, white space around it aside.

    Raises:
        RejectedError: `malformed`, for any other syntax, a root that is not an object, a member name that occurs twice
            in one object, half of a surrogate pair, or anything beyond the limits above.
    """
    tokens = _tokens(text)
    if next(tokens) != ("mark", "{"):
        raise RejectedError("malformed")
    root: dict[str, JsonValue] = {}
    open_containers: list[dict[str, JsonValue] | list[JsonValue]] = [root]
    token = next(tokens)
    is_first = True
    while open_containers:
        container = open_containers[-1]
        if token == ("mark", "}" if isinstance(container, dict) else "]"):
            open_containers.pop()
            token, is_first = next(tokens), False
            continue
        if not is_first:
            _expect(token, ("mark", ","))
            token = next(tokens)
        if isinstance(container, dict):
            name = _new_name(token, container)
            _expect(next(tokens), ("mark", ":"))
            container[name] = value = _value(next(tokens))
        else:
            value = _value(token)
            container.append(value)
        is_first = isinstance(value, dict | list)
        if isinstance(value, dict | list):
            open_containers.append(value)
            if len(open_containers) > MAX_JSON_DEPTH:
                raise RejectedError("malformed")
        token = next(tokens)
    _expect(token, ("end", ""))
    return root


def _tokens(text: str) -> Iterator[_Token]:
    """The tokens of `text` as (kind, text), then `end` again and again."""
    position = 0
    while True:
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise RejectedError("malformed")
        yield match.lastgroup, match[match.lastgroup]
        position = match.end()


def _expect(token: _Token, expected: _Token) -> None:
    if token != expected:
        raise RejectedError("malformed")


def _new_name(token: _Token, members: dict[str, JsonValue]) -> str:
    kind, spelling = token
    if kind != "string":
        raise RejectedError("malformed")
    name = _unescaped(spelling)
    if name in members or len(name.encode("utf-16-le")) // 2 > MAX_NAME_CHARACTERS:
        raise RejectedError("malformed")
    return name


def _value(token: _Token) -> JsonValue:
    """The value that begins with `token`: an object or an array is still empty."""
    kind, spelling = token
    if kind == "string":
        return _unescaped(spelling)
    if kind == "number":
        if sum(character.isdigit() for character in spelling) > MAX_NUMBER_DIGITS:
            raise RejectedError("malformed")
        return Number(spelling)
    if kind == "word":
        return _WORDS[spelling]
    if spelling == "{":
        return {}
    if spelling == "[":
        return []
    raise RejectedError("malformed")


def _unescaped(spelling: str) -> str:
    """The text between two quotes, with surrogate pairs joined."""
    if "\\" not in spelling:
        return spelling
    text = _ESCAPE.sub(_character, spelling)
    try:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise RejectedError("malformed") from None


def _character(escape: re.Match[str]) -> str:
    code_unit, short = escape.groups()
    return chr(int(code_unit, 16)) if code_unit else _SHORT_ESCAPES.get(short, short)
