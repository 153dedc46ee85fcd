"""Secrets on their way to processes that outlive the command that was given them."""

from contextlib import suppress
from pathlib import Path

from pipelines.processes.atomic_file import write_whole
from pipelines.secret import Secret
from pipelines.settings import Settings
from pipelines.settings_variables import secrets_elsewhere


def secrets_in_files(settings: Settings) -> Settings:
    """The settings by which services are started: secrets that were given by variables are in files of this user alone,
    below `$PTS_HOME/run/secrets`, so that no service's environment, nor that of what it starts, has one.

    Raises `OSError`.
    """
    folder = _folder(settings)

    def place(variable: str, secret: Secret) -> Secret:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        write_whole(folder / variable, secret.reveal(), is_secret=True)
        return type(secret)(file=folder / variable, variable=f"{variable}_FILE")

    return secrets_elsewhere(settings, place)


def forget_secrets(settings: Settings) -> None:
    """Deletes the files of secrets, as far as nobody else does at the same time. Raises `OSError`."""
    folder = _folder(settings)
    with suppress(FileNotFoundError, NotADirectoryError):
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
        folder.rmdir()


def _folder(settings: Settings) -> Path:
    return settings.home.resolve() / "run" / "secrets"
