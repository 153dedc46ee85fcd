"""What can stop a command: one class for each situation that an operator meets, each with its exit code.

A message is one or two sentences: what is wrong, with both values where two disagree, and what to do. The command line
prints it without a traceback; anything that is not a `PtsError` is a defect and keeps its traceback.
"""

import re
import sys
from typing import ClassVar


class PtsError(Exception):
    """A failure whose cause and cure are known."""

    exit_code: ClassVar[int] = 1


class InvalidInput(PtsError):
    """A parameter or a setting that makes no sense."""

    exit_code = 2


class SetupIncomplete(PtsError):
    """The Java runtime or the JVM jars are not in the environment."""

    exit_code = 3


class BrokerUnavailable(PtsError):
    """No Kafka broker answers at the address, or the embedded one did not start."""

    exit_code = 4


class TopicMismatch(PtsError):
    """A topic is missing, or differs from its contract in a way that breaks a guarantee."""

    exit_code = 5


class LogTruncated(PtsError):
    """The log lost records that were not read yet, ends before what was read, or holds other records there."""

    exit_code = 6


class LakeMismatch(PtsError):
    """What is stored is not what this code writes: another schema, a foreign folder, contradicting positions."""

    exit_code = 7


class LakeUnavailable(PtsError):
    """The lake cannot be read or written: permissions, a full disk, a missing mount."""

    exit_code = 8


class AnotherWriter(PtsError):
    """A live job already writes this lake."""

    exit_code = 9


class StackError(PtsError):
    """A service of the embedded stack did not start, or ended by itself."""

    exit_code = 10


class Interrupted(PtsError):
    """A drain, or the building of a replay, was asked to stop before its end."""

    exit_code = 12


class NotFound(PtsError):
    """The question has no answer in the tables: no such package, no table yet."""

    exit_code = 11


class Violation(PtsError):
    """The tables do not hold what the ledger says, or the ledger contradicts itself."""

    exit_code = 13


class UndeclaredDifference(PtsError):
    """A replay's tables differ from the live ones in rows for which nobody said that they would."""

    exit_code = 14


class NotCompared(PtsError):
    """A replay that may not be promoted: these very tables were not compared, or they differ."""

    exit_code = 15


class ExpectationFailed(PtsError):
    """A truth about the tables that every reader relies on does not hold, or could not be evaluated."""

    exit_code = 17


class Unhealthy(PtsError):
    """The system does not keep what was promised of it: how far it may be behind, how much may be rejected."""

    exit_code = 16


class AlertFailed(PtsError):
    """An alert could not be delivered."""

    exit_code = 18


class JavaEnded(PtsError):
    """Spark's Java, or a process of its tasks, ended by itself: it had no memory left, or somebody killed it."""

    exit_code = 19


class AccessRefused(PtsError):
    """Brokers and this program do not trust each other: a wrong login, a bad certificate, a missing right."""

    exit_code = 20


class MessagesRejected(PtsError):
    """Of the messages that a producer asked about, the rules would quarantine some."""

    exit_code = 21


class ApiUnavailable(PtsError):
    """The customers' API cannot start or go on: its port is taken, another one serves this home, or its store fails."""

    exit_code = 22


class BoardUnavailable(PtsError):
    """The board cannot start: its port is taken."""

    exit_code = 24


class KeysUnavailable(PtsError):
    """The keys of sealed fields are missing, damaged, another's, or older than what was sealed."""

    exit_code = 23


def error_of(exit_code: int) -> type[PtsError]:
    """The class with an exit code."""
    classes: list[type[PtsError]] = [*PtsError.__subclasses__(), PtsError]
    return next(each for each in classes if each.exit_code == exit_code)


MOST_CHARACTERS = 10_000
"""The longest line that is written to a log."""

COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def without_colours(text: str) -> str:
    """The text of an engine's message without what would colour it on a terminal."""
    return COLOURS.sub("", text)


ROW_VALUES = (
    (r"(\bInput: )\"[^\n]*\"", r"\1'***'"),  # DuckDB: a text that is no JSON
    # '…' and "…" after what introduces a value: DuckDB's, Spark's and Arrow's conversions, duplicate keys, pydantic
    (
        r"""(?x) (\b (?:convert|parse|cast|value|string|key|input|format|input_value) (?:\s+(?:the|string|value))*
        (?: \s*[:=]\s* | \s+ )) (?: '(?:[^'\\]|\\.)*' | "[^"\n]*" )""",
        r"\1'***'",
    ),
    (r"(?m)^(\s*- [\w.`]+ : ).*$", r"\1***"),  # Delta: violated by row with values
    (r"(\brow: )\[[^\n]*\]", r"\1[***]"),
    (r"(?m)^\s*\|.*\|\s*$", "| *** |"),  # delta-rs: a preview of the rows
    (r"(?m)^[^\n]*\n(?=\^$)", "***\n"),  # DuckDB: a text with a mark below it
)
"""How engines quote values of rows in their errors, and what is put in their place."""


def without_rows(text: str) -> str:
    """The text of an engine's error without values of rows. Which column, table, constraint or record it was, stays."""
    for pattern, instead in ROW_VALUES:
        text = re.sub(pattern, instead, text, flags=re.IGNORECASE)
    return text


def in_words(error: BaseException) -> str:
    """An error's sentence; of one that is not for people, how Python writes it."""
    return str(error) if isinstance(error, PtsError) else repr(error)


def warn(sentence: str) -> None:
    """Writes a warning to standard error, as `log_text`: what somebody should know and nothing fails for."""
    sys.stderr.write(f"{log_text(f'pts: warning: {sentence}')}\n")


def log_text(text: str) -> str:
    """The text, of one or many lines, as a log may have it: without values of rows, and each line printable and
    bounded.
    """
    lines = without_rows(without_colours(text)).expandtabs().splitlines()
    return "\n".join(printable(line, MOST_CHARACTERS) for line in lines)


def printable(text: str, most: int | None = None) -> str:
    """The text on one line, without characters that a terminal would obey; cut off after so many characters.

    What records, files or brokers say goes through here on its way to a log or a terminal.
    """
    shown = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)
    return shown if most is None or len(shown) <= most else f"{shown[:most]} … ({len(shown) - most:,} more characters)"


STORE_ANSWER = re.compile(r"<Code>(\w+)</Code>(?:\s*<Message>([^<]*)</Message>)?")
"""What a store says of a refusal (https://docs.aws.amazon.com/AmazonS3/latest/API/ErrorResponses.html)."""

STORE_SILENT = re.compile(r"Error performing \w+ (https?://[^/\s]+)[\s\S]*error sending request")
"""How delta-rs and obstore say that they had no answer."""

STORE_UNTRUSTED = re.compile(
    r"Error performing \w+ (https://[^/\s]+)[\s\S]*(?:invalid peer certificate|InvalidCertificate)\W*(.{,20})"
)
"""How the two say what they have against a store's certificate, in more words or fewer."""

UNTRUSTED_STORE = (
    "is not trusted: PTS_STORAGE__CA_FILE must have the authority that it comes from, and the certificate the address "
    "by which the store is reached"
)


def first_sentence(error: Exception) -> str:
    """The message of an engine's error on one line, without the excerpt of the query that DuckDB appends and without a
    full stop: what a `PtsError` quotes. Of an object store's refusal, the store's own words.
    """
    if answer := STORE_ANSWER.search(str(error)):
        return f"the store says {answer[1]}" + (f" ({printable(answer[2]).rstrip('.')})" if answer[2] else "")
    if asked := STORE_UNTRUSTED.search(without_colours(str(error))):
        why = "has expired" if "xpired" in asked[2] else UNTRUSTED_STORE
        return f"the certificate of the store at {asked[1]} {why}"
    if asked := STORE_SILENT.search(str(error)):
        return f"the store at {asked[1]} does not answer"
    text = re.split(r"\n\s*(?:LINE \d+:|Error:)", without_colours(str(error)))[0]
    return " ".join(text.split()).rstrip(".")
