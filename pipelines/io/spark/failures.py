"""Failures of Spark, Delta and Kafka that have a known cause, as the errors that an operator reads."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from py4j.protocol import Py4JJavaError

from pipelines.errors import (
    UNTRUSTED_STORE,
    AccessRefused,
    AnotherWriter,
    BrokerUnavailable,
    JavaEnded,
    LakeMismatch,
    LakeUnavailable,
    LogTruncated,
    PtsError,
    without_colours,
)
from pipelines.io.kafka import refusals


class Cause(NamedTuple):
    """A known cause: what an engine's message shows of it, and the error that names it."""

    pattern: str
    kind: type[PtsError]
    message: str


HANDSHAKE = r"org\.apache\.kafka\.common\.errors\.SslAuthenticationException[\s\S]*?"
"""What Kafka's client says of TLS; the causes below it say why."""

CAUSES = (
    Cause(r"errors\.AccessRefused: ", AccessRefused, "Kafka brokers and a task of Spark do not trust each other."),
    Cause(
        r"No space left on device|Disk quota exceeded",
        LakeUnavailable,
        "The disk is full. Free some space and start again: nothing is lost.",
    ),
    Cause(
        r"Read-only file system|Permission denied|AccessControlException|AccessDenied",
        LakeUnavailable,
        "The lake or its checkpoint cannot be written. Give the job's user write permission and start again: nothing "
        "is lost.",
    ),
    Cause(
        r"OffsetOutOfRange|data may have been lost|data loss|DATA_LOSS|MISSING_TOPIC_PARTITIONS"
        r"|offset was changed from|NOT_READ_OFFSETS_RANGE",
        LogTruncated,
        "The log no longer holds records that were still to be read. Compare the topics' first offsets with the "
        "ledger's last row (ops.batches), and restore the topic.",
    ),
    Cause(
        r"ChecksumException",
        LakeMismatch,
        "A file of the lake or of its checkpoint is damaged. Restore it, or rebuild the lake from the log; a damaged "
        "checkpoint the job can do without: `pts stream --new-checkpoint` (docs/runbook.md, 'A lost checkpoint').",
    ),
    Cause(
        r"Multiple streaming (queries|jobs)|CONCURRENT_STREAM_LOG_UPDATE"
        r"|ConcurrentTransactionException|DELTA_CONCURRENT_TRANSACTION",
        AnotherWriter,
        "Another live job took over this checkpoint. Stop one of the two.",
    ),
    Cause(
        r"cancelled as part of cancellation of all jobs",  # by `spark_job`
        AnotherWriter,
        "A lock of the lake was not renewed in time, and may be another's. This process changes nothing more. Start it "
        "again where no other runs.",
    ),
    Cause(rf"{HANDSHAKE}Certificate(Expired|NotYetValid)Exception", AccessRefused, refusals.EXPIRED),
    Cause(rf"{HANDSHAKE}(PKIX path|No subject alternative|No name matching)", AccessRefused, refusals.UNTRUSTED),
    Cause(
        rf"{HANDSHAKE}(certificate_required|bad_certificate|certificate_unknown|unknown_ca)",
        AccessRefused,
        refusals.CLIENT_CERTIFICATE,
    ),
    Cause(rf"{HANDSHAKE}Unsupported or unrecognized SSL message", AccessRefused, refusals.NO_TLS),
    Cause(
        r"org\.apache\.kafka\.common\.errors\.(SaslAuthentication|UnsupportedSaslMechanism)Exception",
        AccessRefused,
        refusals.LOGIN,
    ),
    Cause(r"javax\.security\.auth\.login\.LoginException", AccessRefused, refusals.TOKEN),
    Cause(r"org\.apache\.kafka\.common\.errors\.\w+AuthorizationException", AccessRefused, refusals.RIGHT),
    Cause(
        r"org\.apache\.kafka\.common\.errors\."
        r"(Timeout|Disconnect|Network|UnknownTopicOrPartition|BrokerNotAvailable|LeaderNotAvailable|NotLeaderOrFollower"
        r"|NotController|ListenerNotFound|FencedLeaderEpoch|UnknownLeaderEpoch|CoordinatorNotAvailable)\w*Exception"
        r"|No resolvable bootstrap urls|Failed to construct kafka consumer|Failed to create new KafkaAdminClient",
        BrokerUnavailable,
        "The Kafka brokers stopped answering. Start again when they are back: the job goes on where it stopped.",
    ),
    Cause(
        r"is not there on \S+, where Spark runs tasks",
        LakeUnavailable,
        "The lake is a folder that not all workers have. Mount it on each of them by the same path, or put the lake "
        "into an object store: PTS_LAKE=s3://bucket/name.",
    ),
    Cause(
        r"the certificate of the store at|invalid peer certificate|InvalidCertificate"
        r"|(SdkClientException|AWSClientIOException)[\s\S]*?(PKIX path|No subject alternative|No name matching)",
        LakeUnavailable,
        f"The certificate of the object store {UNTRUSTED_STORE}. Nothing is lost.",
    ),
    Cause(
        r"the store (says|at http)|S3Exception|SdkClientException|AWSClientIOException|Generic S3 error",
        LakeUnavailable,
        "The object store refuses, or does not answer. Nothing is lost: start again when it does.",
    ),
    Cause(
        r"Python worker exited unexpectedly|EOFException occurred while reading the port number",
        JavaEnded,
        "A process of Spark's tasks ended by itself, again and again: the machine may have no memory left for it. "
        "Nothing is lost: start again.",
    ),
    Cause(
        r"Out of Memory Error",
        JavaEnded,
        "DuckDB has neither memory nor disk left for the rows: make room in $PTS_HOME/tmp or, where a batch is too "
        "large, set a smaller PTS_STREAM__MAX_RECORDS_PER_BATCH. Nothing is lost: start again.",
    ),
    Cause(
        r"LakeMismatch: Table [a-z._]+ refuses rows",
        LakeMismatch,
        "Rows break a condition of a table. This is a defect: bad input never gets this far.",
    ),
)


def known_failure(error: BaseException) -> PtsError | None:
    """The error to show for an engine failure; None when its cause is not known, so that its traceback is kept."""
    text = without_colours(str(error))
    for pattern, kind, message in CAUSES:
        if found := re.search(pattern, text):
            start = text.rfind("\n", 0, found.start()) + 1
            line = text[start : found.end() + 160].splitlines()[0].strip()
            return kind(f"{message} The engine said: {line}")
    return None


@contextmanager
def explained() -> Iterator[None]:
    """Raises, for a failure with a known cause, the `PtsError` that it means; any other as it is."""
    try:
        yield
    except Exception as error:
        if known := known_failure(error):
            raise known from error
        if isinstance(error, Py4JJavaError):
            error.add_note(str(error))  # Java, which is asked for this text, is gone when the traceback is printed
        raise
