"""Files and folders that settings name."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator


def _of_the_user(path: Path) -> Path:
    """`~` is the user's folder, as the shell would have it."""
    try:
        return path.expanduser()
    except RuntimeError as error:  # a user whom the system does not know
        raise ValueError(str(error)) from error


UserPath = Annotated[Path, AfterValidator(_of_the_user)]

AbsolutePath = Annotated[Path, AfterValidator(lambda path: _of_the_user(path).absolute())]
"""Services run in other folders than the shell that gives them their settings."""
