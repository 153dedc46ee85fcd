"""Pages from templates, in which all that is filled in is text."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def templates(folder: Path) -> Environment:
    """The templates of a folder."""
    return Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,  # whatever records say is text
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
