"""Engine failures with a known cause become the error that an operator reads; others keep their traceback."""

import pytest
from py4j.protocol import Py4JJavaError

from pipelines.errors import (
    AccessRefused,
    AnotherWriter,
    BrokerUnavailable,
    JavaEnded,
    LakeMismatch,
    LakeUnavailable,
    LogTruncated,
    PtsError,
)
from pipelines.io.spark.failures import explained, known_failure
from pipelines.session import with_retries

TLS = "org.apache.kafka.common.errors.SslAuthenticationException: SSL handshake failed\nCaused by: "

MESSAGES = [
    ("java.io.IOException: No space left on device", LakeUnavailable),
    ("java.io.FileNotFoundException: /lake/x.parquet (Read-only file system)", LakeUnavailable),
    ("org.apache.hadoop.fs.ChecksumException: Checksum error: file:/lake/_checkpoints/live/offsets/3", LakeMismatch),
    ("java.lang.IllegalStateException: Cannot fetch offset 7. Some data may have been lost because", LogTruncated),
    ("[CONCURRENT_STREAM_LOG_UPDATE] Concurrent update to the log.", AnotherWriter),
    ("[SPARK_JOB_CANCELLED] Job 7 cancelled as part of cancellation of all jobs SQLSTATE: XXKDA", AnotherWriter),
    ("org.apache.kafka.common.errors.TimeoutException: Timed out waiting for a node assignment.", BrokerUnavailable),
    ("org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)", JavaEnded),
    ("org.apache.spark.SparkException: EOFException occurred while reading the port number from a", JavaEnded),
    ("_duckdb.OutOfMemoryException: Out of Memory Error: failed to allocate data of size", JavaEnded),
    ("pipelines.errors.LakeMismatch: Table silver.ship_events refuses rows that break", LakeMismatch),
    ("org.apache.kafka.common.errors.LeaderNotAvailableException: There is no leader for this", BrokerUnavailable),
    (f"{TLS}java.security.cert.CertificateExpiredException: NotAfter: Thu Nov 26", AccessRefused),
    (f"{TLS}sun.security.validator.ValidatorException: PKIX path building failed", AccessRefused),
    (f"{TLS}javax.net.ssl.SSLHandshakeException: (certificate_required) Received fatal alert", AccessRefused),
    ("org.apache.kafka.common.errors.SaslAuthenticationException: Authentication failed", AccessRefused),
    ("javax.security.auth.login.LoginException: java.io.IOException: The response code 401 and", AccessRefused),
    ("org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics", AccessRefused),
    ("pipelines.errors.AccessRefused: The certificate of a Kafka broker has expired.", AccessRefused),
]


@pytest.mark.parametrize(("message", "kind"), MESSAGES, ids=[kind.__name__ for _, kind in MESSAGES])
def test_known_cause_is_named_with_what_the_engine_said(message: str, kind: type[PtsError]) -> None:
    found = known_failure(
        RuntimeError(f"An error occurred while calling o1.save.\n: {message}\n\tat a.b.C.d(C.java:1)")
    )
    assert type(found) is kind
    assert message[:60] in str(found)
    assert "\n" not in str(found)


def test_task_is_tried_again_on_this_machine_as_on_others() -> None:
    assert with_retries("local[*]") == "local[*,4]"
    assert with_retries("local[2]") == "local[2,4]"
    assert [with_retries(url) for url in ("local[2,1]", "spark://a:7077")] == ["local[2,1]", "spark://a:7077"]


def test_unknown_failure_is_left_as_it_is() -> None:
    assert known_failure(RuntimeError("CHECK constraint tracking_number_is_positive violated")) is None


def test_unknown_failure_of_java_keeps_its_text_when_java_is_gone() -> None:
    class OfJava(Py4JJavaError):  # type: ignore[misc]  # py4j has no types
        def __init__(self) -> None:
            """Without a gateway."""

        def __str__(self) -> str:
            return "a trace of Java's"

    with pytest.raises(OfJava) as raised, explained():
        raise OfJava
    assert raised.value.__notes__ == ["a trace of Java's"]
