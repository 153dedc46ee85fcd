"""Why brokers and a client do not trust each other, in a sentence: logins, certificates, rights."""

import re
import socket
import ssl
import time

from confluent_kafka import KafkaError

from pipelines.errors import AccessRefused
from pipelines.io.kafka.connection import Connection
from pipelines.kafka_security import PREFIX, hosts

LOGIN = f"The Kafka brokers refuse the login: check user, secret and mechanism ({PREFIX}…)."
TOKEN = (
    f"The token endpoint gives no token: check {PREFIX}CLIENT_ID, CLIENT_SECRET and SCOPE, and whether "
    "TOKEN_ENDPOINT_URL answers."
)
EXPIRED = (
    "The certificate of a Kafka broker has expired. Who runs the broker must renew it: `pts certificates` does so for "
    "the embedded one."
)
UNTRUSTED = (
    f"The certificate of a Kafka broker is not trusted: {PREFIX}CA_FILE must have the authority that it comes from, "
    "and the certificate the address by which the broker is reached."
)
CLIENT_CERTIFICATE = (
    f"The Kafka brokers refuse this client's certificate, or want one: check {PREFIX}CERTIFICATE_FILE and KEY_FILE."
)
RIGHT = "The Kafka brokers do not permit this: the user lacks a right (ACL). docs/kafka.md lists those that are needed."
WANTS_TLS = f"The Kafka brokers want TLS, and this client speaks plain text: set {PREFIX}PROTOCOL to SSL or SASL_SSL."
NO_TLS = f"The Kafka brokers do not speak TLS on this port: {PREFIX}PROTOCOL must be that of the port."

MISSING_RIGHT = {
    KafkaError.TOPIC_AUTHORIZATION_FAILED,
    KafkaError.GROUP_AUTHORIZATION_FAILED,
    KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
BROKEN_OFF = ("Local: ", "isconnected", "unexpected eof")
"""How librdkafka tells that a broker went away in the middle of a login or handshake, as it does when it stops."""

OF_THE_CLIENT = "SSL alert number"
"""How librdkafka tells that a broker, and not itself, broke off: it did so for what it was shown, or not shown."""

NO_TOKEN = "OAUTHBEARER token"
"""How librdkafka tells that it has nothing to log in with: it was refused elsewhere than at a broker."""

OF_AN_ATTEMPT = re.compile(r" \(after \d+ms in state .*")
"""What librdkafka adds to an error, and is another thing each time: who tells a refusal once compares the sentences."""

HANDSHAKE_SECONDS = 2.0


class Refusals:
    """Takes in what a client of librdkafka tells beside its calls, which of a refused login or handshake only say that
    nobody answered in time. `note` is the client's `error_cb`, called while it is polled.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._error: KafkaError | None = None

    def note(self, error: KafkaError) -> None:
        is_refusal = error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL) or OF_THE_CLIENT in error.str()
        if is_refusal and not any(words in error.str() for words in BROKEN_OFF):
            self._error = self._error or error

    def check(self) -> None:
        """Raises `AccessRefused` once the client was refused."""
        if self._error is None:
            return
        if self._error.code() == KafkaError._AUTHENTICATION:
            reason = TOKEN if NO_TOKEN in self._error.str() else LOGIN
        elif OF_THE_CLIENT in self._error.str():
            reason = CLIENT_CERTIFICATE
        else:
            reason = _of_tls(self._connection) or UNTRUSTED
        raise denied(self._connection, reason, self._error)


def denied(connection: Connection, reason: str, error: KafkaError) -> AccessRefused:
    """The refusal, with who was refused where, and the client's own words; the same each time."""
    who = connection.security.username or connection.security.client_id
    told = OF_AN_ATTEMPT.sub("", error.str())
    return AccessRefused(f"{reason} {f'{who} at ' if who else ''}{connection} was told: {told}")


def check_right(connection: Connection, error: KafkaError) -> None:
    """Raises `AccessRefused` for an error that says that a right is missing."""
    if error.code() in MISSING_RIGHT:
        raise denied(connection, RIGHT, error)


def check_protocol(connection: Connection) -> None:
    """Raises `AccessRefused` where brokers that give no answer speak TLS and the client does not, or the reverse."""
    reason = _of_tls(connection)
    if reason == NO_TLS:  # or it stops at this very moment
        time.sleep(HANDSHAKE_SECONDS)
        reason = _of_tls(connection)
    if reason:
        raise AccessRefused(f"{reason} They are at {connection}.")


def _of_tls(connection: Connection) -> str | None:
    """What a handshake with the first broker that answers brings to light; None where that is nothing."""
    security = connection.security
    context = ssl.create_default_context(cafile=security.ca_file)
    if not security.is_encrypted:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for host, port in hosts(connection.bootstrap_servers):
        try:
            with (
                socket.create_connection((host, port), HANDSHAKE_SECONDS) as plain,
                context.wrap_socket(plain, server_hostname=host),
            ):
                return None if security.is_encrypted else WANTS_TLS
        except ssl.SSLCertVerificationError as error:
            return EXPIRED if error.verify_message == "certificate has expired" else UNTRUSTED
        except (ssl.SSLEOFError, ConnectionResetError):
            return NO_TLS if security.is_encrypted else None
        except OSError:
            continue
    return None
