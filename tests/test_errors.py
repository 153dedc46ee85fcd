"""What is told of failures, and what is not."""

import pytest

from pipelines.errors import log_text, printable, without_rows

DELTA = """[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint is_known (city <> 'x') violated by row with values:
 - city : Paris
 - postal_code : 75001"""
DELTA_RS = "1 rows failed validation check.\nPreview of invalid data:\n\n| city  | n  |\n| Paris | -1 |"


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("Conversion Error: Could not convert string 'Paris 75001' to INT32", "to INT32"),
        ('Conversion Error: invalid timestamp field format: "Paris", expected format is', "invalid timestamp"),
        ('Malformed JSON at byte 6 of input: unexpected character.  Input: "{"a": Paris}"', "at byte 6"),
        ('Could not parse string "Paris" according to format specifier "%Y"\nParis\n^\nError: x', "Could not parse"),
        ('PRIMARY KEY or UNIQUE constraint violation: duplicate key "Paris"', "duplicate key"),
        ("Could not convert 'Paris' with type str: tried to convert to int64", "int64"),
        ("Failed to parse string: 'Paris' as a scalar of type int64", "int64"),
        ("[CAST_INVALID_INPUT] The value 'Paris' of the type \"STRING\" cannot be cast", "CAST_INVALID_INPUT"),
        ("Invariant (n > 0) violated by value in row: [Paris, 1]", "(n > 0)"),
        ("Input should be an integer [type=int, input_value='Paris', input_type=str]", "should be an integer"),
        (DELTA, "is_known (city <> 'x')"),
        (DELTA_RS, "1 rows failed"),
    ],
)
def test_engine_that_quotes_a_row_is_not_repeated_in_a_log(told: str, kept: str) -> None:
    assert "Paris" not in without_rows(told)
    assert "75001" not in without_rows(told)
    assert kept in without_rows(told)


@pytest.mark.parametrize(
    "told",
    [
        "Table gold.stop_activity of /lake cannot be read: it has no version yet.",
        "Topic 'ship-events' has retention.ms=1 (the contract says -1): set it back.",
        "ship-events/0@9 of batch 3 is neither in silver nor in quarantine.",
        'File "/x/y.py", line 3, in run',
        '[{"name": "lag", "value": 3, "key": "a"}, {"name": "silence", "value": "none"}]',
    ],
)
def test_what_an_operator_needs_is_repeated(told: str) -> None:
    assert log_text(told) == told


def test_text_from_outside_is_on_its_line_and_bounded() -> None:
    assert printable("a\x1b[2J\nb\x9bc\u202e") == "a\ufffd[2J\ufffdb\ufffdc\ufffd"
    assert printable("x" * 50, 10) == "x" * 10 + " … (40 more characters)"
    assert log_text("one\n\ttwo\x1b]0;x\x07") == "one\n        two\ufffd]0;x\ufffd"
    assert len(log_text("x" * 1_000_000)) < 11_000
