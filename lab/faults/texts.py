"""Texts of fields, within the contract and around its edges."""

from collections.abc import Sequence
from random import Random

Texts = Sequence[str]

INTEGER_EDGES = tuple(
    sign + str(edge + step)
    for edge in (0, 2**31, 2**32, 2**53, 10**18, 2**63, 10**19, 2**64, 10**39, 10**40)
    for step in (-1, 0, 1)
    for sign in ("", "+", "-")
)
NO_INTEGERS = (
    *("", " ", "+", "-", "--1", "+-1", "1-", "- 1", " 7", "7 ", "\t7", "7\n", "7\r\n", "\u00a07", "\ufeff7", "7\0"),
    *("\0", "1.0", "1.", ".5", "1e3", "1E3", "0x1F", "1_000", "1,000", "1L", "1d", "7f", "NaN", "Infinity", "true"),
    *("null", "\u0663", "\uff14\uff12", "²", "Ⅷ", "\u22125", "\U0001d7dc\U0001d7da", "forty-two"),
)

YEARS = ("0000", "0001", "0004", "0100", "0400", "1582", "1899", "1900", "1969", "1970", "2000", "2024", "2100", "9999")
NO_YEARS = ("0", "26", "02026", "10000", "-2026", "+2026", "-0001", "\u0662\u0660\u0662\u0666", "")
MONTHS = ("01", "02", "03", "10", "12")
NO_MONTHS = ("00", "13", "1", "012", "99", "Feb", "")
DAYS = ("01", "09", "28", "29", "30", "31")
NO_DAYS = ("00", "32", "1", "029", "99", " 1", "")
HOURS, NO_HOURS = ("00", "09", "23"), ("24", "25", "9", "-1", "99", "010", "")
SIXTIETHS, NO_SIXTIETHS = ("00", "01", "30", "59"), ("60", "61", "99", "5", "005", "")
SEPARATORS, NO_SEPARATORS = ("T", " "), ("t", "_", "", "  ", "T ", "\t", "\u2003", "%20", ",")
ZONES = ("", "Z", "+00:00", "-00:00", "+01:00", "-05:30", "+14:00", "+17:59", "+18:00", "-18:00")
NO_ZONES = (
    *("z", " Z", "ZZ", "+18:01", "-18:01", "+19:00", "+99:99", "+00:60", "+01", "+1:00", "+0100", "+01:00:00", "+"),
    *("UTC", "GMT+1", "[Europe/Prague]", "Europe/Prague", "\u221201:00", "+\u0660\u0661:00", " +01:00", "\n", "\0"),
)
FRACTION_EDGES = (".0", ".000001", ".999999", ".0000009", ".9999999", ".999999999", ".000000000", ".001", ".999")
NO_FRACTIONS = (".", ",5", ".5.5", ". 5", ".\u0665", ".5e1", ".-5", ":5", ".1234567890", ".123456789012")
NO_TIMES = ("", " ", "now", "today", "epoch", "1767607200", "2026-03-01", "10:00:00", "2026-W09-7T10:00:00", "infinity")

ORDINARY = ("SCAN", "IT", "OD", "DL", "UPS", "US", "NY", "New York", "10001", "In transit")
SPECIAL = (
    *('"', '""', ",", "\r", "\n", "\r\n", " ", "\t", "\0", "\x01", "\x1f", "\x7f", "\\", "\\n", '\\"', "/", "'", ";"),
    *(
        "|",
        "\ufeff",
        "\u0085",
        "\u00a0",
        "\u2028",
        "\u2029",
        "\u200b",
        "\u202e",
        "e\u0301",
        "é",
        "配達中",
        "📦",
        "👩‍👩‍👧",
    ),
    *("\ud7ff", "\ue000", "\ufffd", "\ufffe", "\uffff", "\U00010000", "\U0010ffff", "null", "NULL", "\\N"),
    *("{}", "\b\f"),
)
LENGTHS = (200, 1_000, 8_192)


def one_of(rng: Random, good: Texts, bad: Texts, bad_share: float = 0.04) -> str:
    return rng.choice(bad if rng.random() < bad_share else good)


def integer(rng: Random) -> str:
    """A number at an edge of some width, with zeros before it, or a text that is none."""
    chance = rng.random()
    if chance < 0.35:
        return rng.choice(INTEGER_EDGES)
    if chance < 0.7:
        return rng.choice(NO_INTEGERS)
    if chance < 0.85:
        zeros = "0" * rng.choice((1, 2, 17, 18, 19, 30, 40))
        return rng.choice(("", "+", "-")) + zeros + rng.choice(("", "7", str(2**63 - 1), str(2**63)))
    digits = "".join(rng.choices("0123456789", k=rng.choice((1, 9, 10, 18, 19, 20, 40))))
    return rng.choice(("", "+", "-")) + digits


def time(rng: Random) -> str:
    """A time of any year, offset and precision; each of its parts may be none."""
    if rng.random() < 0.05:
        return rng.choice(NO_TIMES)
    date = "-".join((one_of(rng, YEARS, NO_YEARS), one_of(rng, MONTHS, NO_MONTHS), one_of(rng, DAYS, NO_DAYS)))
    clock = ":".join(
        (one_of(rng, HOURS, NO_HOURS), one_of(rng, SIXTIETHS, NO_SIXTIETHS), one_of(rng, SIXTIETHS, NO_SIXTIETHS))
    )
    return date + one_of(rng, SEPARATORS, NO_SEPARATORS) + clock + _fraction(rng) + one_of(rng, ZONES, NO_ZONES)


def recent_time(rng: Random) -> str:
    """A time of March 2026, as scanners write it."""
    clock = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
    date = f"2026-03-{rng.randint(1, 31):02}"
    return date + rng.choice(SEPARATORS) + clock + _fraction(rng, wrong_share=0.0) + rng.choice(ZONES)


def _fraction(rng: Random, wrong_share: float = 0.15) -> str:
    if rng.random() < 0.5:
        return ""
    if rng.random() < 0.3:
        return one_of(rng, FRACTION_EDGES, NO_FRACTIONS, wrong_share)
    return "." + "".join(rng.choices("0123456789", k=rng.randint(1, 9)))


def text(rng: Random) -> str:
    """A text of characters that some format, encoding or language treats in a way of its own."""
    if rng.random() < 0.02:
        return rng.choice(SPECIAL) * rng.choice(LENGTHS)
    return "".join(rng.choices((*SPECIAL, *ORDINARY), k=rng.randint(0, 4)))
