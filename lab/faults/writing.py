"""Values of both wire formats: written as anybody might write them, now and then with a fault of the format's own."""

import json
from random import Random

from lab.faults import texts
from pipelines.contracts.topics import Topic, WireField
from tests.oracle.json_object import MAX_JSON_DEPTH, MAX_NAME_CHARACTERS, MAX_NUMBER_DIGITS

Fields = dict[str, str]
"""Texts by the names of the contract; an empty one is null."""

LINE_ENDS = ("", "", "", "\n", "\r\n")
NO_LINE_ENDS = ("\r", "\n\n", "\r\n\r\n", "\n\r", "\r\r\n", "\0", "\u2028", " \n", ",", "\n,")

SPACES = ("", "", "", "", " ", "\n", "\r\n\t ")
NO_SPACES = ("\u00a0", "\ufeff", "\v", "\f", "\0", "\x1e", "\u2028", "/**/", "//x\n", "#x\n")

RAW_NUMBERS = (
    *("0", "-0", "1", "-1", "0.0", "-0.0", "1.0", "1.5", "42.000", "1e0", "1E3", "1e-3", "1e+2", "1e999", "-1e999"),
    *("1e-999", "1e9999999999", "1e-9999999999", "4.2e1", "0e0", "0.1e1", str(2**63), str(-(2**63) - 1), "9" * 38),
    *("9" * 40, f"{'9' * 20}.{'9' * 18}", f"{'9' * 20}.{'9' * 19}", f"0.{'0' * 50}1", f"{'9' * 400}.5"),
    *("1" * MAX_NUMBER_DIGITS, "1" * (MAX_NUMBER_DIGITS + 1), "-" + "1" * MAX_NUMBER_DIGITS),
    *(f"0.{'1' * (MAX_NUMBER_DIGITS + step)}" for step in (-3, -2, -1, 0, 1)),
    *(f"1e{'0' * (MAX_NUMBER_DIGITS + step)}" for step in (-3, -2, -1, 0, 1)),
    *(f"1.5e-{'0' * (MAX_NUMBER_DIGITS + step)}" for step in (-5, -4, -3, -2, -1, 0, 1)),
)
NO_NUMBERS = (
    *("01", "-01", "00", "+1", ".5", "5.", "-", "-.5", "1e", "1e+", "1.e1", "0x1F", "1_0", "1 0", "--1", "\u0663"),
    *("1f", "1L", "NaN", "-NaN", "nan", "Infinity", "-Infinity", "+Infinity", "INF", "-INF", "1.#INF"),
)
RAW_OTHERS = (
    *("true", "false", "null", "[]", "{}", '""', "[42]", '{"trackingNumber":42}', "[null]"),
    *('[[],{},[{"a":[]}]]', '["a", "b"]'),
)
NO_VALUES = (
    *("", "True", "nul", "nulL", "undefined", "None", "'x'", "x", "`x`", '"', '"x', "[1,]", "[,1]", "[,]", "[1 2]"),
    *("[1", "1]", '{"a":1,}', "{,}", '{"a"}', '{"a":}', "{:1}", "{a:1}", "{'a':1}", '{"a" 1}', '{"a":1 "b":2}'),
    *('{"a":1,"a":2}', '{"":1,"":2}', '{"a":{"b":1,"\\u0062":2}}', '[{"a":1},{"a":1,"a":1}]', '{"a":1;"b":2}', "(1)"),
    *("{]", "[}", "[1}", '{"a":1]', "{1:1}", '"\t"', '"\n"', '"\0"', '"\x1f"', r'"\x41"', r'"\u12"', r'"\u12g4"'),
    *(r'"\U0041"', r'"\'"', r'"\0"', '"\\', r'"\u"', '"\\\n"'),
)
SPELLINGS = (
    *(r"\u0000", r"\u001f", r"\u0022", r"\u005c", r"\u005C", r"\/", r"\b\f\n\r\t", r"\u00e9", r"\uFEFF", r"\uffff"),
    *(r"\ud83d\udce6", r"\uD83D\uDCE6", r"\ud7ff", r"\ue000", r"\udbff\udfff", "\x7f", "\u2028"),
)
NO_SPELLINGS = (
    *(r"\ud800", r"\udc00", r"\ud800A", r"\ud800\ud800", r"\udc00\ud800", r"\ud83d\\udce6", r"\ud83d\ud83d\udce6"),
    *(r"\ud83d\n\udce6", r"\ud83d\u0041", r"\udfff\ud83d\udce6", "\\ud83d📦"),
)
DEPTHS = (2, 20, 100, MAX_JSON_DEPTH - 2, MAX_JSON_DEPTH - 1, MAX_JSON_DEPTH, MAX_JSON_DEPTH + 1, 10_000)
UNKNOWN_NAMES = (
    *("extra", "", "trackingnumber", "TrackingNumber", "trackingNumber ", "a.b", "$", "0", "é"),
    *("📦", "trackingNumber\0"),
)
WRAPS = (
    *(("[", "]"), ('{"":', "}"), ("[", ""), ("", "]"), ("", "}"), ("", "{}"), ("", ",{}"), ("", ',"x":{}')),
    *(("", '},"x":{'), ("", "],["), ("", " null"), ("", "\0"), ("\0", ""), ("\ufeff", ""), ('"', '"'), ("x", "")),
    *(("", "x"), ("", "//x"), ("{", "}")),
)


def csv_value(rng: Random, topic: Topic, fields: Fields) -> bytes:
    """A line whose fields are quoted where they must be, or where somebody liked to; rarely not even then."""
    quoted_share = rng.choice((0.0, 0.0, 0.3, 1.0))
    careless = rng.random() < 0.03
    cells = [_cell(rng, fields[field.name], quoted_share, careless) for field in topic.fields]
    return (",".join(cells) + texts.one_of(rng, LINE_ENDS, NO_LINE_ENDS)).encode()


def _cell(rng: Random, text: str, quoted_share: float, careless: bool) -> str:
    must = any(character in text for character in ',"\r\n')
    if careless or not (must or rng.random() < quoted_share):
        return text
    return '"' + text.replace('"', '""') + '"'


def json_value(rng: Random, topic: Topic, fields: Fields) -> bytes:
    """An object with members in any order, perhaps with more of them, spelled in one of many ways."""
    known = [_member(rng, field, fields[field.name]) for field in topic.fields]
    members = [member for member in known if member]
    while rng.random() < 0.2:
        members.append(_unknown(rng))
    if members and rng.random() < 0.03:
        members.append(rng.choice(members))  # a name that is there twice
    rng.shuffle(members)
    space = _spaces(rng)
    text = f"{space},{_spaces(rng)}".join(f"{name}{space}:{_spaces(rng)}{value}" for name, value in members)
    text = f"{_spaces(rng)}{{{space}{text}{space}}}{_spaces(rng)}"
    if rng.random() < 0.03:
        before, after = rng.choice(WRAPS)
        text = before + text + after
    return text.encode()


def _spaces(rng: Random) -> str:
    return texts.one_of(rng, SPACES, NO_SPACES, 0.003)


def _member(rng: Random, field: WireField, text: str) -> tuple[str, str] | None:
    """Name and value as they are spelled; nothing where the member is left out."""
    name = _spelled(rng, field.name)
    if rng.random() < 0.02:
        return name, _any_value(rng)
    if not text:
        return rng.choice((None, None, (name, "null"), (name, '""')))
    is_number = field.kind == "integer" and text.lstrip("-").isdecimal() and text.isascii()
    is_bare = (is_number and rng.random() < 0.5) or rng.random() < 0.004
    return name, text if is_bare else _spelled(rng, text)


def _unknown(rng: Random) -> tuple[str, str]:
    chance = rng.random()
    if chance < 0.003:
        name = rng.choice("aé📦") * (MAX_NAME_CHARACTERS + rng.choice((-1, 0, 1)))
    elif chance < 0.3:
        name = texts.text(rng)
    else:
        name = rng.choice(UNKNOWN_NAMES)
    return _spelled(rng, name), _any_value(rng)


def _any_value(rng: Random) -> str:
    chance = rng.random()
    if chance < 0.3:
        return texts.one_of(rng, RAW_NUMBERS, NO_NUMBERS, 0.2)
    if chance < 0.6:
        return texts.one_of(rng, RAW_OTHERS, NO_VALUES, 0.3)
    if chance < 0.63:
        return _nested(rng)
    spelling = texts.one_of(rng, SPELLINGS, NO_SPELLINGS, 0.2)
    return f'"{rng.choice(("", "a", "é"))}{spelling}{rng.choice(("", "b", "📦"))}"'


def _nested(rng: Random) -> str:
    """Arrays or objects in each other."""
    depth = rng.choice(DEPTHS)
    opening, closing = rng.choice((("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")))
    times = depth // len(closing)
    return opening * times + rng.choice(("1", "[]", "")) + closing * (times - rng.choice((0, 0, 0, 1)))


def _spelled(rng: Random, text: str) -> str:
    """A JSON string: as it is, with escapes for all beyond ASCII, or with escapes where none is needed."""
    chance = rng.random()
    if chance < 0.6 or not text:
        return json.dumps(text, ensure_ascii=False)
    if chance < 0.9:
        return json.dumps(text)
    units = text.encode("utf-16-be")
    return '"' + "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2)) + '"'
