"""Settings as PTS_ variables: where each value comes from, how to hand them on, and misspelt ones."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, SecretStr

from pipelines.settings import Settings

HIDDEN = "***"
SECRET = r"secret|passw|pwd|token|credential|jaas|access[._-]?key|api[._-]?key|private[._-]?key"
"""What the name of a secret has in it; Spark's `spark.redaction.regex` knows about the same."""

NAMED_SECRET = re.compile(rf"""([\w.-]*(?:{SECRET})[\w.-]*\s*=\s*)(?:"[^"]*"|'[^']*'|[^\s&;,]+)""", re.IGNORECASE)
USER_AND_PASSWORD = re.compile(r"(://[^\s:/@]*):\S*@")
WEB_ADDRESS = re.compile(r"(https?://[^\s/?#]+)[/?#][^\s]+", re.IGNORECASE)


@dataclass(frozen=True)
class SettingLine:
    """A setting as `pts settings` shows it, without secrets. `source` is `environment` or `default`."""

    variable: str
    value: Any
    source: str
    description: str


def setting_lines(settings: Settings, environ: Mapping[str, str]) -> list[SettingLine]:
    """Every setting, in the order of their declaration."""
    given = {name.upper() for name in environ}
    return [
        SettingLine(
            variable,
            without_secrets(getattr(owner, field)),
            "environment" if _is_given(variable, given) else "default",
            type(owner).model_fields[field].description or "",
        )
        for variable, owner, field in _walk(settings, "PTS_")
    ]


def without_secrets(value: Any) -> Any:
    """The value as it may be shown: with `***` for a password in a URL, for what is named as a secret (a property of
    Spark, `password="…"` in a JAAS configuration), and for the path of a web address: who knows that of a webhook can
    write there.
    """
    if isinstance(value, dict):
        return {
            name: HIDDEN if re.search(SECRET, name, re.IGNORECASE) else without_secrets(item)
            for name, item in value.items()
        }
    if isinstance(value, SecretStr):
        return HIDDEN
    if not isinstance(value, str):
        return value
    text = NAMED_SECRET.sub(rf"\1{HIDDEN}", USER_AND_PASSWORD.sub(rf"\1:{HIDDEN}@", value))
    return WEB_ADDRESS.sub(rf"\1/{HIDDEN}", text)


def as_variables(settings: Settings) -> dict[str, str]:
    """The variables from which another process, in whatever folder, reads these same settings."""
    values = {variable: getattr(owner, field) for variable, owner, field in _walk(settings, "PTS_")}
    values |= {"PTS_HOME": settings.home.resolve(), "PTS_LAKE": settings.lake_root}
    return {variable: _as_text(value) for variable, value in values.items() if value is not None}


def _as_text(value: object) -> str:
    if isinstance(value, SecretStr):
        return value.get_secret_value()
    return json.dumps(value) if isinstance(value, dict) else str(value)


def misspelt(environ: Mapping[str, str]) -> dict[str, str | None]:
    """PTS_ variables that are no setting, each with the setting that was probably meant."""
    known = {variable for variable, _, _ in _walk(Settings.model_construct(), "PTS_")}
    # A group may be given as one JSON object.
    groups = {variable.rpartition("__")[0] for variable in known if "__" in variable}
    strangers = [
        name
        for name in environ
        if name.upper().startswith("PTS_") and name.upper() not in known | groups and not _is_inside(name.upper())
    ]
    return {
        name: next(iter(get_close_matches(name.upper(), known, n=1, cutoff=0.75)), None) for name in sorted(strangers)
    }


def _walk(owner: BaseModel, prefix: str) -> Iterator[tuple[str, BaseModel, str]]:
    for name in type(owner).model_fields:
        value = getattr(owner, name)
        if isinstance(value, BaseModel):
            yield from _walk(value, f"{prefix}{name.upper()}__")
        else:
            yield f"{prefix}{name.upper()}", owner, name


def _is_given(variable: str, given: set[str]) -> bool:
    is_in_group = any(variable.startswith(f"{name}__") for name in given)
    return variable in given or is_in_group or any(name.startswith(f"{variable}__") for name in given)


def _is_inside(variable: str) -> bool:
    """Single Spark properties may be given as variables of their own."""
    return variable.startswith("PTS_SPARK__CONF__")
