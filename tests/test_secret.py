"""Settings that are secrets: where they may be, what is refused, and who sees them."""

import pickle
from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as NoKeyring
from keyring.errors import KeyringLocked

from pipelines.errors import InvalidInput
from pipelines.kafka_security import PREFIX
from pipelines.processes.secret_files import forget_secrets, secrets_in_files
from pipelines.secret import Secret, SecretAddress, SecretProperties
from pipelines.settings import Settings, load_settings
from pipelines.settings_variables import as_variables, secret_variables, setting_lines
from tests.permissions import permitted_beyond

LOGIN = {
    "PTS_KAFKA__BOOTSTRAP_SERVERS": "kafka.example.org:9094",
    f"{PREFIX}PROTOCOL": "SASL_SSL",
    f"{PREFIX}MECHANISM": "SCRAM-SHA-512",
    f"{PREFIX}USERNAME": "pts",
}
MORE = {
    "PTS_SPARK__SECRET_CONF": '{"spark.authenticate.secret": "hunter2"}',
    "PTS_ALERTS__TO": "https://hooks.example.org/hunter2",
    "PTS_AIRFLOW__DATABASE": "postgresql://pts:hunter2@host/name",
}


class OneKeyring(KeyringBackend):
    """A keyring with a few entries."""

    priority = 1.0

    def __init__(self, entries: dict[tuple[str, str], str]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # of the library
        self._entries = entries

    def get_password(self, service: str, username: str) -> str | None:
        return self._entries.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        raise NotImplementedError


class LockedKeyring(OneKeyring):
    """Whose owner is not there."""

    def get_password(self, service: str, username: str) -> str | None:
        raise KeyringLocked("Failed to unlock the collection!")


@pytest.fixture
def _own_keyring() -> Iterator[None]:
    before = keyring.get_keyring()
    yield
    keyring.set_keyring(before)


def given(monkeypatch: pytest.MonkeyPatch, **variables: str) -> Settings:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return load_settings()


def private(path: Path, text: str) -> Path:
    path.write_text(text)
    path.chmod(0o600)
    return path


@pytest.mark.parametrize("kept", ["hunter2", "hunter2\n", "hunter2\r\n"])
def test_secret_in_a_file_is_read_at_each_use_without_the_line_feed_at_its_end(
    kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = private(tmp_path / "password", kept)
    security = given(monkeypatch, **LOGIN, **{f"{PREFIX}PASSWORD_FILE": str(file)}).kafka.security
    assert security.secret("password") == "hunter2"
    file.write_text("another")
    assert security.secret("password") == "another"


@pytest.mark.parametrize(
    ("kept", "mode", "sentence"),
    [
        ("", 0o600, "is empty"),
        ("\n", 0o600, "is empty"),
        ("hunter2\nhunter2", 0o600, "it has more than one line"),
        ("hunter2\n\n", 0o600, "it has more than one line"),
        ("hunter2", 0o604, r"every user of this machine may use \(mode 0604\): `chmod o= "),
        ("hunter2", 0o602, "every user of this machine may use"),
    ],
)
def test_file_that_holds_no_secret_is_refused_in_a_sentence(
    kept: str, mode: int, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = private(tmp_path / "password", kept)
    file.chmod(mode)
    security = given(monkeypatch, **LOGIN, **{f"{PREFIX}PASSWORD_FILE": str(file)}).kafka.security
    with pytest.raises(InvalidInput, match=f"PASSWORD_FILE={file}.*{sentence}") as refusal:
        security.secret("password")
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize("held", [None, b"\xff\xfe"])
def test_file_that_cannot_be_read_is_named(held: bytes | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if held:
        private(tmp_path / "secret", "").write_bytes(held)
    settings = given(
        monkeypatch,
        **LOGIN,
        **{f"{variable}_FILE": str(tmp_path / "secret") for variable in (f"{PREFIX}PASSWORD", *MORE)},
    )
    for use in (
        lambda: settings.kafka.security.secret("password"),
        settings.spark.properties,
        settings.alerts.address,
        lambda: settings.airflow.database and settings.airflow.database.reveal(),
    ):
        with pytest.raises(InvalidInput, match=r"_FILE=.*secret cannot be read: (No such file|it is no text)"):
            use()


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        ({f"{PREFIX}PASSWORD": ""}, "PASSWORD: it is empty"),
        ({f"{PREFIX}PASSWORD": "  "}, "PASSWORD: it is empty"),
        ({f"{PREFIX}PASSWORD": "hunter2\nhunter2"}, "PASSWORD: it has more than one line"),
        ({f"{PREFIX}PASSWORD_FILE": ""}, "PASSWORD_FILE names no file"),
        ({f"{PREFIX}PASSWORD": "hunter2", "PTS_ALERTS__TO": "hunter2"}, "TO: it is neither log nor mailto"),
        ({f"{PREFIX}PASSWORD": "x", "PTS_SPARK__SECRET_CONF": '["hunter2"]'}, "it is no JSON object"),
        (
            {f"{PREFIX}PASSWORD": "x", "PTS_ALERTS__TO": "log", "PTS_ALERTS__TO_FILE": "x"},
            "TO and PTS_ALERTS__TO_FILE exclude each other",
        ),
        (
            {f"{PREFIX}PASSWORD": "x", "PTS_SPARK__CONF": MORE["PTS_SPARK__SECRET_CONF"]}
            | {"PTS_SPARK__SECRET_CONF_FILE": "x"},
            "spark.authenticate.secret of PTS_SPARK__CONF must stand with the others",
        ),
    ],
)
def test_variable_that_holds_no_secret_is_refused_without_its_value(
    variables: dict[str, str], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InvalidInput, match=sentence) as refusal:
        given(monkeypatch, **LOGIN, **variables)
    assert "hunter2" not in f"{refusal.value}{refusal.value.__cause__}"


def test_file_of_an_alert_address_that_is_none_is_refused_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = private(tmp_path / "to", "hunter2")
    with pytest.raises(InvalidInput, match=r"TO_FILE=.* has neither log nor mailto") as refusal:
        given(monkeypatch, PTS_ALERTS__TO_FILE=str(file)).alerts.address()
    assert "hunter2" not in str(refusal.value)


def test_property_that_is_named_as_a_secret_is_one_wherever_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    conf = '{"spark.executor.memory": "4g", "spark.ssl.keyPassword": "hunter2"}'
    spark = given(monkeypatch, PTS_SPARK__CONF=conf).spark
    assert spark.conf == {"spark.executor.memory": "4g"}
    assert spark.properties() == {"spark.executor.memory": "4g", "spark.ssl.keyPassword": "hunter2"}


@pytest.mark.usefixtures("_own_keyring")
def test_keyring_has_what_neither_variable_nor_file_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entries = {("tracking", variable): value for variable, value in MORE.items()}
    keyring.set_keyring(OneKeyring({**entries, ("tracking", f"{PREFIX}PASSWORD"): "hunter2", ("x", "y"): "z"}))
    file = private(tmp_path / "to", "mailto:ada@example.org")
    settings = given(monkeypatch, **LOGIN, PTS_KEYRING="tracking", PTS_ALERTS__TO_FILE=str(file))

    assert settings.kafka.security.secret("password") == "hunter2"
    assert settings.spark.properties() == {"spark.authenticate.secret": "hunter2"}
    assert settings.alerts.address() == "mailto:ada@example.org"
    sources = {line.variable: line.source for line in setting_lines(settings, LOGIN)}
    assert sources[f"{PREFIX}PASSWORD"] == sources["PTS_AIRFLOW__DATABASE"] == "keyring"
    assert sources["PTS_ALERTS__TO"] == f"file {file}"
    handed_on = as_variables(secrets_in_files(settings.model_copy(update={"home": tmp_path})))
    assert "hunter2" not in str(handed_on), "who is started asks the keyring, too"
    assert handed_on["PTS_KEYRING"] == "tracking"
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("_own_keyring")
@pytest.mark.parametrize(
    ("backend", "sentence"),
    [
        (
            NoKeyring(),  # type: ignore[no-untyped-call]  # of the library
            "PTS_KEYRING=tracking: this machine has no keyring that could be asked. Unset it, and give",
        ),
        (LockedKeyring({}), "PTS_KEYRING=tracking: the keyring does not open: Failed to unlock the collection!"),
        (OneKeyring({("tracking", f"{PREFIX}PASSWORD"): "\n"}), "PASSWORD of the keyring: it is empty"),
        (OneKeyring({}), r"needs .*PASSWORD or .*PASSWORD_FILE"),
    ],
)
def test_keyring_that_cannot_help_is_a_sentence(
    backend: KeyringBackend, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyring.set_keyring(backend)
    with pytest.raises(InvalidInput, match=sentence):
        given(monkeypatch, **LOGIN, PTS_KEYRING="tracking")


def test_services_get_the_names_of_files_in_place_of_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = {"PTS_BOARD__USER": "ada", "PTS_BOARD__PASSWORD": "hunter2"}
    own = {f"{PREFIX}PASSWORD": "hunter2", "PTS_HOME": str(tmp_path)}
    settings = given(monkeypatch, **LOGIN, **MORE, **board, **own)
    handed_on = as_variables(secrets_in_files(settings))
    assert "hunter2" not in str(handed_on)
    assert permitted_beyond(0o077, tmp_path / "run" / "secrets") == {}
    assert (tmp_path / "run" / "secrets").stat().st_mode & 0o077 == 0

    for variable in [*secret_variables(), "PTS_SPARK__CONF"]:
        monkeypatch.delenv(variable, raising=False)
    there = given(monkeypatch, **handed_on)
    assert there.kafka.security.secret("password") == "hunter2"
    assert there.board.password is not None
    assert there.board.password.reveal() == "hunter2"
    assert there.spark.properties() == settings.spark.properties()
    assert there.alerts.address() == settings.alerts.address()
    assert as_variables(secrets_in_files(there)) == handed_on
    for _ in ("by who stops the services", "by who sees that they have gone"):
        forget_secrets(settings)
    assert not (tmp_path / "run" / "secrets").exists()


@pytest.mark.parametrize(
    "secret",
    [Secret("hunter2"), SecretAddress("https://pts:hunter2@x/hunter2"), SecretProperties('{"a": "hunter2"}')],
)
def test_secret_is_shown_nowhere_and_travels_to_tasks(secret: Secret) -> None:
    assert "hunter2" not in f"{secret} {secret!r} {secret.shown()} {[secret]}"
    assert pickle.loads(pickle.dumps(secret)).reveal() == secret.reveal()
