"""Settings as PTS_ variables: where each value comes from, how to hand them on, and misspelt ones."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel

from pipelines.secret import HIDDEN, Secret, is_secret_name, secret_kinds, without_secrets
from pipelines.settings import Settings

G = TypeVar("G", bound=BaseModel)

SAID_OF_SECRETS = "A secret: {}_FILE names a file that holds it, or the keyring has it."


@dataclass(frozen=True)
class SettingLine:
    """A setting as `pts settings` shows it, without secrets. `source` is `environment` or `default`, of a secret also
    `file` with its path, or `keyring`.
    """

    variable: str
    value: Any
    source: str
    description: str

    def as_json(self) -> dict[str, Any]:
        return {"name": self.variable, "value": self.value, "source": self.source, "description": self.description}


def setting_lines(settings: Settings, environ: Mapping[str, str]) -> list[SettingLine]:
    """Every setting, in the order of their declaration."""
    given = {name.upper() for name in environ}
    return [_line(variable, owner, field, given) for variable, owner, field in _walk(settings, "PTS_")]


def _line(variable: str, owner: BaseModel, field: str, given: set[str]) -> SettingLine:
    value, described = getattr(owner, field), type(owner).model_fields[field]
    source, description = "environment" if _is_given(variable, given) else "default", described.description or ""
    if field in secret_kinds(type(owner)):
        description += f" {SAID_OF_SECRETS.format(variable)}"
        source = value.source if isinstance(value, Secret) and value != described.default else source
    return SettingLine(variable, shown(value), source, description)


def shown(value: Any) -> Any:
    """The value of a setting as it may be shown."""
    if isinstance(value, Secret):
        return value.shown()
    if isinstance(value, dict):
        return {name: HIDDEN if is_secret_name(name) else shown(item) for name, item in value.items()}
    return without_secrets(value) if isinstance(value, str) else value


def as_variables(settings: Settings) -> dict[str, str]:
    """The variables from which another process, in whatever folder, reads these same settings.

    A secret that is in a file is handed on by the file's name; what the keyring has, every process asks it for.
    """
    values = {variable: getattr(owner, field) for variable, owner, field in _walk(settings, "PTS_")}
    values |= {"PTS_HOME": settings.home.resolve(), "PTS_LAKE": settings.lake_root}
    return dict(_variable(name, value) for name, value in values.items() if value is not None and not _is_kept(value))


def _is_kept(value: object) -> bool:
    return isinstance(value, Secret) and value.is_of_keyring


def _variable(name: str, value: object) -> tuple[str, str]:
    if isinstance(value, Secret):
        return (f"{name}_FILE", str(value.file)) if value.file else (name, value.reveal())
    return name, json.dumps(value) if isinstance(value, dict) else str(value)


def secrets_elsewhere(settings: Settings, place: Callable[[str, Secret], Secret]) -> Settings:
    """The settings with those secrets that are neither in a file nor in the keyring where `place` puts them: it is
    given each one's variable and the secret.
    """
    return _placed(settings, "PTS_", place)


def _placed(group: G, prefix: str, place: Callable[[str, Secret], Secret]) -> G:
    changed: dict[str, Any] = {}
    for name, field in type(group).model_fields.items():
        value, variable = getattr(group, name), f"{prefix}{name.upper()}"
        if isinstance(value, BaseModel):
            changed[name] = _placed(value, f"{variable}__", place)
        elif isinstance(value, Secret) and not value.file and not value.is_of_keyring and value != field.default:
            changed[name] = place(variable, value)
    return group.model_copy(update=changed)


def secret_variables() -> list[str]:
    """The variables of all settings that are secrets."""
    return [
        variable
        for variable, owner, field in _walk(Settings.model_construct(), "PTS_")
        if field in secret_kinds(type(owner))
    ]


def misspelt(environ: Mapping[str, str]) -> dict[str, str | None]:
    """PTS_ variables that are no setting, each with the setting that was probably meant."""
    known = {variable for variable, _, _ in _walk(Settings.model_construct(), "PTS_")}
    known |= {f"{variable}_FILE" for variable in secret_variables()}
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
