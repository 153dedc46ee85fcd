"""How this process reaches object stores: said once, when a command begins, and the same for all clients."""

from collections.abc import Mapping

from pipelines.settings import Storage

_options: dict[str, str] = {}


def reach(storage: Storage) -> None:
    """From here on, stores are reached as the settings say; what they leave open, the usual chain of AWS tells: the
    environment, a web identity, the machine's own role.
    """
    said = {
        "aws_endpoint": storage.endpoint,
        "aws_region": storage.region,
        "aws_access_key_id": storage.access_key_id,
        "aws_secret_access_key": storage.secret_access_key and storage.secret_access_key.reveal(),
        "aws_session_token": storage.session_token and storage.session_token.reveal(),
        "aws_allow_http": "true" if storage.endpoint.startswith("http://") else "",
    }
    reach_as({name: value for name, value in said.items() if value})


def reach_as(options: Mapping[str, str]) -> None:
    """The same by `options` of another process."""
    _options.clear()
    _options.update(options)


def options() -> dict[str, str]:
    """What delta-rs and obstore are told."""
    return dict(_options)
