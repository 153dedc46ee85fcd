"""Certificates of the embedded broker, from an authority of its own: made, and made again before they expire."""

import ipaddress
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key
from cryptography.x509.oid import NameOID

from pipelines import commands
from pipelines.errors import AccessRefused, BrokerUnavailable
from pipelines.io.kafka import admin
from pipelines.io.kafka.connection import Connection, secrets_of
from pipelines.io.kafka.refusals import HANDSHAKE_SECONDS
from pipelines.processes.atomic_file import write_whole
from pipelines.settings import Settings

LIFETIMES = {"ca": timedelta(days=3650), "controller": timedelta(days=3650), "broker": timedelta(days=90)}
"""Clients of the broker know the authority; of the controller's certificate nobody knows but the broker itself, which
does not read it again while it runs."""

RENEWED_BEFORE = timedelta(days=30)


def renew(folder: Path, now: datetime | None = None) -> list[str]:
    """Makes the certificates that are missing or near their end, and returns their names. Those that an authority has
    signed go with it.

    `<name>.pem` holds a private key and its certificate, both readable by this user alone; `ca.pem` only a certificate.

    Raises `OSError`.
    """
    now = now or datetime.now(UTC)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if _is_good(folder / "ca.pem", now) and (folder / "ca.key").exists():
        made = [name for name in ("controller", "broker") if not _is_good(folder / f"{name}.pem", now)]
    else:
        made = list(LIFETIMES)
        key = generate_private_key(SECP256R1())
        write_whole(folder / "ca.key", _as_pem(key), is_secret=True)
        write_whole(folder / "ca.pem", _certificate("ca", key, "ca", key, now), is_secret=True)
    authority = load_pem_private_key((folder / "ca.key").read_bytes(), None)
    assert isinstance(authority, EllipticCurvePrivateKey)
    for name in made:
        if name != "ca":
            key = generate_private_key(SECP256R1())
            text = _as_pem(key) + _certificate(name, key, "ca", authority, now)
            write_whole(folder / f"{name}.pem", text, is_secret=True)
    return made


def run(_command: commands.Certificates, settings: Settings) -> dict[str, datetime]:
    """Renews the certificates of the embedded broker that are near their end; one that runs and shows another one than
    is there takes it up without a restart. Returns when each of them expires; in the plain profile there are none.

    Raises `BrokerUnavailable` when they cannot be written, and `AccessRefused` when the broker's own has expired, and
    so nobody can tell it of the new one.
    """
    if settings.profile == "plain":
        return {}
    folder = secrets_of(settings.home)
    try:
        renew(folder)
    except OSError as error:
        raise BrokerUnavailable(f"The certificates cannot be written in {folder}: {error.strerror}.") from error
    shown = _shown(settings.broker.port)
    if shown and shown != _load(folder / "broker.pem").public_bytes(Encoding.DER):
        try:
            admin.renew_certificate(Connection.of(settings, "admin"), "client", folder / "broker.pem")
        except AccessRefused as error:
            raise AccessRefused(
                "The broker that runs was not told of its new certificate, and takes it up when it starts again: `pts "
                f"down`, then `pts up`. {error}"
            ) from error
    return {name: expires_at(folder / f"{name}.pem") for name in LIFETIMES}


def expires_at(path: Path) -> datetime:
    """When the certificate in the file does."""
    return _load(path).not_valid_after_utc


def _load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificates(path.read_bytes())[0]


def _shown(port: int) -> bytes | None:
    """The certificate that a broker shows at the port, whether or not it is good; None where there is none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(("127.0.0.1", port), HANDSHAKE_SECONDS) as plain,
            context.wrap_socket(plain) as connection,
        ):
            return connection.getpeercert(binary_form=True)
    except OSError:
        return None


def _is_good(path: Path, now: datetime) -> bool:
    return path.exists() and now < expires_at(path) - RENEWED_BEFORE


def _as_pem(key: EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _certificate(
    name: str, key: EllipticCurvePrivateKey, issuer: str, authority: EllipticCurvePrivateKey, now: datetime
) -> str:
    is_authority = name == issuer
    usage = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "encipher_only",
         "decipher_only"), False,
    )  # fmt: skip
    builder = (
        x509.CertificateBuilder()
        .subject_name(_named(name))
        .issuer_name(_named(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # of a clock that is set back
        .not_valid_after(now + LIFETIMES[name])
        .add_extension(x509.BasicConstraints(is_authority, 0 if is_authority else None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=not is_authority, key_cert_sign=is_authority, crl_sign=is_authority, **usage
            ),
            critical=True,
        )
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), critical=False)
    )
    if not is_authority:
        addresses = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
        builder = builder.add_extension(x509.SubjectAlternativeName(addresses), critical=False)
    return builder.sign(authority, SHA256()).public_bytes(Encoding.PEM).decode()


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
