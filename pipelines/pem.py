"""Certificates in files that settings name."""

import re
import ssl
from functools import lru_cache
from pathlib import Path

from pipelines.errors import InvalidInput
from pipelines.secret import named_text

CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----\n?")


def certificates(path: Path, variable: str) -> str:
    """The certificates of a PEM file, without what is in it beside.

    Raises `InvalidInput` for a file without any: a client would take it for none given, or say so in OpenSSL's words.
    """
    text = named_text(path, variable)
    try:
        _load(path, text)
    except ssl.SSLError as error:
        raise InvalidInput(f"{variable}={path} has no certificate in PEM that can be read.") from error
    return "".join(CERTIFICATE.findall(text))


@lru_cache
def _load(path: Path, _text: str) -> None:
    """Raises `SSLError` when the file, which has this text, has no certificates. It looks once at each text: a bundle
    of all public authorities takes tens of milliseconds, and each batch asks for options.
    """
    ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
