"""`pts judge`: what a producer reads and a pipeline of theirs goes by."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from pipelines import commands
from pipelines.checks import judge as job
from pipelines.cli import main as cli
from pipelines.contracts.examples import ACCEPTED, WIRE_FORMATS, load_examples
from pipelines.contracts.rules import Reason
from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.errors import InvalidInput, MessagesRejected

GOOD = b"42,2026-03-01T10:00:00,SCAN,IT,,,,,,,3"
AT = "2026-03-01T10:00:00Z"


def pts_judge(*arguments: str, given: bytes) -> Result:
    return CliRunner().invoke(cli.app, ["judge", *arguments], input=given)


def told(result: Result) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The messages and the summary that `--json` printed."""
    *messages, summary = map(json.loads, result.stdout.splitlines())
    return messages, summary


@pytest.mark.slow
@pytest.mark.parametrize("wire_format", WIRE_FORMATS)
@pytest.mark.parametrize("topic", [topic.name for topic in INPUT_TOPICS])
def test_examples_of_the_contract_get_their_verdicts_as_records(topic: str, wire_format: str) -> None:
    examples = load_examples(topic, wire_format)
    records = [
        {
            **{
                f"{name}_base64": base64.b64encode(part).decode()
                for name, part in (("key", example.key), ("value", example.value))
                if part is not None
            },
            **({"key": None} if example.key is None else {}),
            **({"value": None} if example.value is None else {}),
            "timestamp": example.timestamp_ms,
        }
        for example in examples
    ]
    given = json.dumps(records).encode()

    result = pts_judge(topic, "--as", "records", "--format", wire_format, "--json", given=given)

    messages, summary = told(result)
    assert [message["verdict"] for message in messages] == [example.verdict for example in examples]
    assert [message["message"] for message in messages] == list(range(1, len(examples) + 1))
    assert summary["messages"] == len(examples)
    assert summary["accepted"] == sum(example.verdict == ACCEPTED for example in examples)
    assert sum(summary["quarantined"].values()) == summary["messages"] - summary["accepted"]
    assert (summary["without_key"], summary["without_timestamp"]) == (0, 0)
    assert isinstance(result.exception, MessagesRejected)


def test_every_reason_is_among_the_examples() -> None:
    verdicts = {
        example.verdict for wire_format in WIRE_FORMATS for example in load_examples("ship-events", wire_format)
    }
    assert verdicts == {ACCEPTED, *Reason}


def test_message_that_is_accepted_ends_with_0_and_what_was_not_judged_is_told() -> None:
    result = pts_judge("ship-events", given=GOOD + b"\n")
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "1  accepted",
        "Messages 1: accepted 1.",
        "Not judged: the key of 1, the timestamp of 1, whether a message repeats another.",
    ]


def test_message_has_the_key_and_the_timestamp_that_are_given() -> None:
    arguments = ("ship-events", "--key", "42", "--timestamp")
    assert pts_judge(*arguments, AT, given=GOOD).exit_code == 0
    late = pts_judge(*arguments, "2026-03-09T10:00:00", given=GOOD)
    assert late.stdout.splitlines() == [
        "1  too_late  691200 s before the record's timestamp",
        "Messages 1: accepted 0, too_late 1.",
        "Not judged: whether a message repeats another.",
    ]
    other = pts_judge("ship-events", "--key", "43", given=GOOD)
    assert other.stdout.splitlines()[0] == "1  key_mismatch  the key is 43, trackingNumber is 42"
    assert str(other.exception) == "1 of 1 messages would be quarantined."


def test_each_line_is_a_message_and_the_last_needs_no_line_break() -> None:
    given = b"\n".join((GOOD, b"", GOOD + b"\r", b"\xff", GOOD))
    messages, summary = told(pts_judge("ship-events", "--as", "lines", "--json", given=given))
    assert [message["verdict"] for message in messages] == ["accepted", "empty", "accepted", "not_utf8", "accepted"]
    assert summary["quarantined"] == {"empty": 1, "not_utf8": 1}
    assert summary["without_key"] == 5


def test_a_file_is_read_and_the_settings_say_how_values_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "routes").write_bytes(b'{"routeId": 7, "trackingNumber": 42, "endStopId": 12}')
    arguments = ("ship-routes", str(tmp_path / "routes"))
    assert pts_judge(*arguments, given=b"").stdout.startswith("1  malformed")
    assert pts_judge(*arguments, "--format", "json", given=b"").exit_code == 0
    monkeypatch.setenv("PTS_KAFKA__SHIP_ROUTES_FORMAT", "json")
    assert pts_judge(*arguments, given=b"").exit_code == 0


def test_a_deployment_that_needs_offsets_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PTS_KAFKA__TIMES_WITHOUT_OFFSET", "quarantine")
    assert pts_judge("ship-events", given=GOOD).stdout.startswith(
        "1  bad_type  occurredAt is not a time with an offset"
    )


def test_what_a_message_says_is_shown_as_printable_text_and_cut_off() -> None:
    escapes = pts_judge("ship-events", given=GOOD.replace(b"42", b"\x1b[31m\x07"))
    assert "\x1b" not in escapes.stdout
    assert "trackingNumber is not a 64-bit integer: \N{REPLACEMENT CHARACTER}[31m" in escapes.stdout
    long = pts_judge("ship-events", "--json", given=GOOD.replace(b"42", b"-" + b"0" * 1_000_000))
    assert len(long.stdout) < 2_000
    assert "more characters" in long.stdout


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"", "the input: Invalid JSON"),
        (b"[]", "There is no message in -."),
        (b'{"value": "x"}', "the input: Input should be a valid array"),
        (b'[{"value": {"trackingNumber": 42}}]', "record 1, value: Input should be a valid string"),
        (b'[{"value": "x"}, {"key": "42"}]', "record 2: Value error, it needs either value or value_base64"),
        (b'[{"value": "x", "value_base64": "eA=="}]', "record 1: Value error, it needs either"),
        (b'[{"value": "x", "key": "1", "key_base64": "MQ=="}]', "record 1: Value error, it has both"),
        (b'[{"value_base64": "!"}]', "record 1, value_base64: Data should be valid base64"),
        (b'[{"value": "x", "topic": "y"}]', "record 1, topic: Extra inputs are not permitted"),
        (b'[{"value": "x", "timestamp": "2026-03-01T10:00:00"}]', "record 1, timestamp"),
        (b'[{"value": "x", "timestamp": 9223372036854775808}]', "record 1, timestamp"),
    ],
)
def test_what_is_no_array_of_records_is_refused_in_a_sentence(given: bytes, words: str) -> None:
    error = pts_judge("ship-events", "--as", "records", given=given).exception
    assert isinstance(error, InvalidInput)
    assert words in str(error)


def test_input_that_cannot_be_read_and_messages_that_no_broker_takes_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job, "LARGEST_MESSAGE", 40)
    monkeypatch.setattr(job, "LARGEST_ARRAY", 40)
    for arguments, given, words in (
        ((str(tmp_path / "none"),), b"", "none cannot be read: No such file or directory."),
        ((str(tmp_path),), b"", "cannot be read: Is a directory."),
        (("--as", "lines"), b"", "There is no message in -."),
        ((), b"x" * 41, "The message has more than 40 bytes."),
        (("--as", "lines"), GOOD + b"\n" + b"x" * 41, "Line 2 has more than 40 bytes."),
        (("--as", "records"), b"x" * 41, "The array has more than 40 bytes."),
    ):
        error = pts_judge("ship-events", *arguments, given=given).exception
        assert isinstance(error, InvalidInput)
        assert words in str(error)


def test_timestamp_of_a_record_may_be_a_time_with_an_offset() -> None:
    record = {"value": GOOD.decode(), "timestamp": "2026-03-01T12:00:00+02:00"}
    (message,), _ = told(pts_judge("ship-events", "--as", "records", "--json", given=json.dumps([record]).encode()))
    assert message == {"message": 1, "verdict": "accepted", "detail": None}


def test_lines_are_judged_as_they_are_read() -> None:
    class Endless:
        """A source that never ends."""

        def readline(self, _most: int) -> bytes:
            return GOOD + b"\n"

    judged = job.messages(Endless(), commands.Judge(topic="ship-events", given_as="lines"))  # type: ignore[arg-type]
    assert next(judged).value == next(judged).value == GOOD
