"""What a person reads when the store is not there."""

from pathlib import Path

import pytest

from pipelines.errors import LakeUnavailable, first_sentence
from tests.calling import Pts
from tests.ports import unused_ports

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("command", [("sql", "SELECT 1"), ("report", "7"), ("health",), ("stream", "--drain")])
def test_store_that_does_not_answer_is_one_sentence(command: tuple[str, ...], pts: Pts, tmp_path: Path) -> None:
    port, _ = unused_ports()
    ended = pts(
        *command,
        home=tmp_path,
        PTS_LAKE="s3://bucket/lake",
        PTS_STORAGE__ENDPOINT=f"http://127.0.0.1:{port}",
        PTS_STORAGE__ACCESS_KEY_ID="tests",
        PTS_STORAGE__SECRET_ACCESS_KEY="tests",
    )
    assert ended.returncode == LakeUnavailable.exit_code, ended.stderr
    (sentence,) = [line for line in ended.stderr.splitlines() if line.startswith("pts: ")]
    assert f"the store at http://127.0.0.1:{port} does not answer" in sentence


def test_what_a_store_says_of_a_refusal_is_told_and_nothing_else() -> None:
    asked = "Error performing GET http://s:9000/b?list-type=2 in 3 ms - Server returned non-2xx status code: 403: "
    answer = "<?xml version='1.0'?><Error><Code>AccessDenied</Code><Message>No.</Message><RequestId>1</RequestId>"
    assert first_sentence(Exception(asked + answer)) == "the store says AccessDenied (No)"
