"""Engine failures with a known cause become the error that an operator reads; others keep their traceback."""

import pytest
from py4j.protocol import Py4JJavaError

from pipelines.errors import (
    AnotherWriter,
    BrokerUnavailable,
    LakeMismatch,
    LakeUnavailable,
    LogTruncated,
    PtsError,
)
from pipelines.io.spark.failures import explained, known_failure

MESSAGES = [
    ("java.io.IOException: No space left on device", LakeUnavailable),
    ("java.io.FileNotFoundException: /lake/x.parquet (Read-only file system)", LakeUnavailable),
    ("org.apache.hadoop.fs.ChecksumException: Checksum error: file:/lake/_checkpoints/live/offsets/3", LakeMismatch),
    ("java.lang.IllegalStateException: Cannot fetch offset 7. Some data may have been lost because", LogTruncated),
    ("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log.", AnotherWriter),
    ("org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment.", BrokerUnavailable),
    ("org.apache.kafka.common.errors.LeaderNotAvailableException: There is no leader for this", BrokerUnavailable),
]


@pytest.mark.parametrize(("message", "kind"), MESSAGES, ids=[kind.__name__ for _, kind in MESSAGES])
def test_known_cause_is_named_with_what_the_engine_said(message: str, kind: type[PtsError]) -> None:
    found = known_failure(
        RuntimeError(f"An error occurred while calling o1.save.\n: {message}\n\tat a.b.C.d(C.java:1)")
    )
    assert type(found) is kind
    assert message[:60] in str(found)
    assert "\n" not in str(found)


def test_unknown_failure_is_left_as_it_is() -> None:
    assert known_failure(RuntimeError("CHECK constraint tracking_number_is_positive violated")) is None


def test_unknown_failure_of_java_keeps_its_text_when_java_is_gone() -> None:
    class OfJava(Py4JJavaError):
        def __init__(self) -> None:
            """Without a gateway."""

        def __str__(self) -> str:
            return "a trace of Java's"

    with pytest.raises(OfJava) as raised, explained():
        raise OfJava
    assert raised.value.__notes__ == ["a trace of Java's"]
