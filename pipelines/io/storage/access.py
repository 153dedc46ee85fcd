"""How this process reaches object stores: said once, when a command begins, and the same for all clients."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pipelines.settings import Storage

AUTHORITIES = "root_certificate"
"""What obstore calls those that it trusts besides the public ones."""

_options: dict[str, str] = {}


def reach(storage: Storage) -> None:
    """From here on, stores are reached as the settings say; what they leave open, the usual chain of AWS tells: the
    environment, a web identity, the machine's own role.

    Raises `InvalidInput` for a file of authorities without a certificate.
    """
    said = {
        "aws_endpoint": storage.endpoint,
        "aws_region": storage.region,
        "aws_access_key_id": storage.access_key_id,
        "aws_secret_access_key": storage.secret_access_key and storage.secret_access_key.reveal(),
        "aws_session_token": storage.session_token and storage.session_token.reveal(),
        "aws_allow_http": "true" if storage.endpoint.startswith("http://") else "",
        AUTHORITIES: storage.authorities(),
    }
    reach_as({name: value for name, value in said.items() if value})


def reach_as(options: Mapping[str, str]) -> None:
    """Tells this process how the store is reached: by the `options` of another process."""
    _options.clear()
    _options.update(options)


def options() -> dict[str, str]:
    """By what another process reaches the same."""
    return dict(_options)


def of_delta_rs() -> dict[str, str]:
    """What delta-rs is told.

    Of authorities, it takes only a proxy's, and trusts them in all connections of this client: it is told of a proxy,
    and never to use it.
    """
    told = options()
    if authorities := told.pop(AUTHORITIES, ""):
        endpoint = told["aws_endpoint"]
        host = urlsplit(endpoint).hostname or ""
        told |= {"proxy_url": endpoint, "proxy_excludes": host, "proxy_ca_certificate": authorities}
    return told


def of_obstore() -> dict[str, Any]:
    """What obstore is told."""
    config = options()
    client: dict[str, Any] = {"allow_http": bool(config.pop("aws_allow_http", ""))}
    if authorities := config.pop(AUTHORITIES, ""):
        client[AUTHORITIES] = authorities
    return {"client_options": client, "config": config}
