"""Settings that are secrets: given by a variable, by a file, or by the keyring, and shown to nobody.

A field of a settings group whose type is a `Secret` is all that has to be said of one: from it follow the variable
`…_FILE`, the name by which the keyring has it, `***` wherever settings are shown, and that processes which are started
do not inherit it.
"""

import json
import re
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, get_args

from pydantic import AfterValidator, BaseModel, BeforeValidator, GetCoreSchemaHandler, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from pipelines.errors import InvalidInput

HIDDEN = "***"
SECRET = r"secret|passw|pwd|token|credential|jaas|access[._-]?key|api[._-]?key|private[._-]?key"
"""What the name of a secret has in it; Spark's `spark.redaction.regex` knows about the same."""

NAMED_SECRET = re.compile(rf"""([\w.-]*(?:{SECRET})[\w.-]*\s*=\s*)(?:"[^"]*"|'[^']*'|[^\s&;,]+)""", re.IGNORECASE)
USER_AND_PASSWORD = re.compile(r"(://[^\s:/@]*):\S*@")
TOKEN_AS_USER = re.compile(r"(https?://)[^\s/:@?#]+@", re.IGNORECASE)
WEB_ADDRESS = re.compile(r"(https?://[^\s/?#]+)[/?#][^\s]+", re.IGNORECASE)

ANYBODY = 0o007


def is_secret_name(name: str) -> bool:
    """Whether what has this name is a secret, as a property of Spark."""
    return re.search(SECRET, name, re.IGNORECASE) is not None


def without_secrets(text: str) -> str:
    """The text as it may be shown: with `***` for a password in a URL, for what is named as a secret (`password="…"`
    in a JAAS configuration), and for the path of a web address: who knows that of a webhook can write there.
    """
    shown = NAMED_SECRET.sub(rf"\1{HIDDEN}", USER_AND_PASSWORD.sub(rf"\1:{HIDDEN}@", text))
    shown = TOKEN_AS_USER.sub(rf"\1{HIDDEN}@", shown)
    return WEB_ADDRESS.sub(rf"\1/{HIDDEN}", shown)


def private_text(path: Path, variable: str) -> str:
    """What a file holds that a setting names, and that is nobody else's business.

    Raises `InvalidInput` when it cannot be read, is empty, or may be read by every user of the machine.
    """
    text = named_text(path, variable)
    if (mode := path.stat().st_mode) & ANYBODY:
        raise InvalidInput(
            f"{variable}={path} is a secret that every user of this machine may use (mode {mode & 0o777:04o}): "
            f"`chmod o= {path}`, or mount it with mode 0400."
        )
    return text


def named_text(path: Path, variable: str) -> str:
    """What a file holds that a setting names. Raises `InvalidInput` when it cannot be read, or is empty."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise InvalidInput(f"{variable}={path} cannot be read: {why}.") from error
    if not text.strip():
        raise InvalidInput(f"{variable}={path} is empty.")
    return text


def _named(path: Any) -> Any:
    """A variable that a deployment left empty would be the folder in which the process runs."""
    if path == "":
        raise ValueError("it names no file: unset it, or give it a path")
    return path


NamedFile = Annotated[Path, BeforeValidator(_named), AfterValidator(lambda path: path.expanduser().absolute())]
"""A file that a setting names. Services run in other folders than the shell that gives them their settings."""


class Secret:
    """A password: itself, or the file that holds it, which is read at each use. Shown, it is `***`.

    A line feed at its end does not count: editors, `echo` and mounted secrets have one.

    Args:
        value: The secret, where it is not in a file.
        file: Where it is.
        variable: The setting that names the file, for what is said of it.
        is_of_keyring: Whether the value came from there.

    Raises `ValueError` for a value that is none.
    """

    def __init__(
        self, value: str = "", *, file: Path | None = None, variable: str = "", is_of_keyring: bool = False
    ) -> None:
        self.file = file and file.expanduser().absolute()  # services run in other folders than the shell
        self.is_of_keyring = is_of_keyring
        self._variable = variable
        self._value = "" if file else self._cleaned(value)

    def reveal(self) -> str:
        """The secret itself. Raises `InvalidInput` for a file that holds none."""
        if self.file is None:
            return self._value
        try:
            return self._cleaned(private_text(self.file, self._variable))
        except ValueError as error:
            raise InvalidInput(f"{self._variable}={self.file}: {error}.") from error

    def shown(self) -> Any:
        """What may be shown of it."""
        return HIDDEN

    @property
    def source(self) -> str:
        """Where it was found."""
        return f"file {self.file}" if self.file else "keyring" if self.is_of_keyring else "environment"

    @classmethod
    def _cleaned(cls, text: str) -> str:
        line = text.removesuffix("\n").removesuffix("\r")
        if not line.strip():
            raise ValueError("it is empty")
        if "\n" in line or "\r" in line:
            raise ValueError("it has more than one line")
        return line

    @classmethod
    def _validated(cls, given: Any) -> Self:
        if isinstance(given, cls):
            return given
        if not isinstance(given, str):
            raise ValueError("it is no text")  # noqa: TRY004 as pydantic wants it
        return cls(given)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(cls._validated)

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{HIDDEN}')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and (self._value, self.file) == (other._value, other.file)

    def __hash__(self) -> int:
        return hash((self._value, self.file))


class SecretAddress(Secret):
    """An address that may have a password or a token in it; the rest of it is shown."""

    def shown(self) -> str:
        return HIDDEN if self.file else without_secrets(self._value)


class SecretProperties(Secret):
    """Properties whose values are secrets, as a JSON object; their names are shown."""

    def properties(self) -> dict[str, str]:
        """Raises `InvalidInput` as `reveal` does."""
        return _as_properties(self.reveal())

    def shown(self) -> Any:
        return HIDDEN if self.file else dict.fromkeys(self.properties(), HIDDEN)

    @classmethod
    def _cleaned(cls, text: str) -> str:
        _as_properties(text)
        return text

    @classmethod
    def _validated(cls, given: Any) -> Self:
        return super()._validated(json.dumps(given) if isinstance(given, dict) else given)


def _as_properties(text: str) -> dict[str, str]:
    try:
        properties = json.loads(text)
    except ValueError:
        properties = None
    if not isinstance(properties, dict) or not all(isinstance(value, str) for value in properties.values()):
        raise ValueError("it is no JSON object whose values are texts")
    return properties


class SecretGroup(BaseModel, frozen=True, extra="forbid", hide_input_in_errors=True):
    """A group of settings, some of which are secrets: `x_file` names the file that holds the secret `x`."""

    PREFIX: ClassVar[str]
    """What the names of its variables begin with."""

    @model_validator(mode="before")
    @classmethod
    def _files(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        taken = dict(given)
        for name, kind in secret_kinds(cls).items():
            if (path := taken.pop(f"{name}_file", None)) is None:
                continue
            variable = f"{cls.PREFIX}{name.upper()}"
            if taken.get(name) is not None:
                raise ValueError(f"{variable} and {variable}_FILE exclude each other")
            if not str(path):
                raise ValueError(f"{variable}_FILE names no file")
            taken[name] = kind(file=Path(path), variable=f"{variable}_FILE")
        return taken


def secret_kinds(group: type[BaseModel]) -> dict[str, type[Secret]]:
    """The fields of a group that are secrets, by name."""
    kinds = {name: _secret_kind(field) for name, field in group.model_fields.items()}
    return {name: kind for name, kind in kinds.items() if kind}


def _secret_kind(field: FieldInfo) -> type[Secret] | None:
    kinds = (field.annotation, *get_args(field.annotation))
    return next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Secret)), None)


def with_secrets_of_keyring(given: Any, group: type[BaseModel], prefix: str, service: str) -> Any:
    """What is given of a group, and of the groups in it, with the secrets that the keyring has besides."""
    if not isinstance(given, dict):
        return given
    taken = dict(given)
    for name, secret in secret_kinds(group).items():
        is_given = taken.get(name) is not None or taken.get(f"{name}_file") is not None
        if not is_given and (found := _of_keyring(service, f"{prefix}{name.upper()}", secret)):
            taken[name] = found
    for name, field in group.model_fields.items():
        if isinstance(within := field.annotation, type) and issubclass(within, BaseModel):
            there = with_secrets_of_keyring(taken.get(name, {}), within, f"{prefix}{name.upper()}__", service)
            if there:
                taken[name] = there
    return taken


def _of_keyring(service: str, variable: str, kind: type[Secret]) -> Secret | None:
    """The secret that the keyring has by this name, if it has one.

    Raises `ValueError` where there is no keyring, it stays locked, or what it has is no secret of this kind.
    """
    import keyring  # takes a while, and few want it
    from keyring.errors import KeyringError, NoKeyringError

    try:
        value = keyring.get_password(service, variable)
    except NoKeyringError as error:
        raise ValueError(
            f"PTS_KEYRING={service}: this machine has no keyring that could be asked. Unset it, and give secrets by "
            "files (…_FILE)"
        ) from error
    except KeyringError as error:
        raise ValueError(f"PTS_KEYRING={service}: the keyring does not open: {error}") from error
    try:
        return None if value is None else kind(value, is_of_keyring=True)
    except ValueError as error:
        raise ValueError(f"{variable} of the keyring: {error}") from error
