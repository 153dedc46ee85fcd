"""Services whose brokers stop letting them in while they run: each says why in a sentence, and nothing is lost."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from pipelines import commands
from pipelines.errors import AccessRefused
from pipelines.io.kafka import refusals
from pipelines.io.kafka.connection import Connection, Principal
from pipelines.io.kafka.consumer import messages
from pipelines.io.keys.key_store import KeyStore
from pipelines.live import topics
from pipelines.settings import Seal, Settings
from pipelines.stack import stack
from pipelines.stack.certificates import renew
from tests.brokers import embedded, set_password, take_rights
from tests.calling import Call
from tests.comparison import assert_lake_equals_log
from tests.integration.log_reader import read_log
from tests.integration.pts_process import process, refusal, settings_of, wait_for, wait_until
from tests.tls import plain_port, tls_port

pytestmark = pytest.mark.long

SERVICES = {
    "simulate": commands.Simulate(rate=50, start=datetime.now(UTC) - timedelta(days=3)).argv(),
    "seal": commands.Seal().argv(),
    "stream": commands.Stream().argv(),
    "api": commands.Api().argv(),
}
RIGHTS: dict[str, tuple[Principal, str]] = {
    "simulate": ("simulator", "ship-events-intake"),
    "seal": ("sealer", "ship-events-intake"),
    "stream": ("job", "ship-events"),
    "api": ("api", "package-reports"),
}
"""Of each service one that it cannot do without."""

START_SECONDS, SECONDS = 400.0, 120.0
"""For the first batch beside three other services, and for what follows."""


@pytest.fixture
def secure(tmp_path: Path) -> Iterator[Settings]:
    """Of a broker of the secure profile, with topics for sealing."""
    yield from with_topics(embedded(tmp_path, "secure"))


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Settings]:
    """The same of the plain profile."""
    yield from with_topics(embedded(tmp_path))


def with_topics(embedded: Settings) -> Iterator[Settings]:
    settings = embedded.model_copy(update={"seal": Seal(enabled=True, intake_hours=96)})
    stack.start(["broker"], settings, silent)
    topics.run(commands.Topics(), settings)
    KeyStore.create(settings.key_store)
    yield settings
    stack.stop(settings, silent)


def silent(_: str) -> None:
    pass


@contextmanager
def in_the_place_of_the_broker(settings: Settings, port: AbstractContextManager[Any]) -> Iterator[None]:
    stack.stop(settings, silent)
    try:
        with port:
            yield
    finally:
        stack.start(["broker"], settings, silent)


@contextmanager
def another_password(settings: Settings) -> Iterator[None]:
    """Of each principal, which connections that last would not notice: the broker starts again."""
    before = {who: Connection.of(settings, who).security.secret("password") or "" for who, _ in RIGHTS.values()}
    for who in before:
        set_password(settings, who, "another one")
    with in_the_place_of_the_broker(settings, nullcontext()):
        pass
    try:
        yield
    finally:
        for who, password in before.items():
            set_password(settings, who, password)


@contextmanager
def no_rights(settings: Settings) -> Iterator[None]:
    for who, topic in RIGHTS.values():
        take_rights(settings, who, topic)
    try:
        yield
    finally:
        topics.run(commands.Topics(), settings)


@contextmanager
def untrusted(settings: Settings) -> Iterator[None]:
    renew(settings.home / "others")
    with in_the_place_of_the_broker(settings, tls_port(settings.home / "others", port=settings.broker.port)):
        yield


@contextmanager
def without_tls(settings: Settings) -> Iterator[None]:
    with in_the_place_of_the_broker(settings, plain_port(settings.broker.port)):
        yield


def test_each_service_names_what_keeps_it_out_and_goes_on_when_that_is_mended(
    secure: Settings, call: Call, tmp_path: Path
) -> None:
    for fault, sentence in (
        (another_password, refusals.LOGIN),
        (no_rights, refusals.RIGHT),
        (untrusted, refusals.UNTRUSTED),
        (without_tls, refusals.NO_TLS),
    ):
        refused(fault(secure), sentence, secure, tmp_path / fault.__name__)
    nothing_is_lost(secure, call)


def test_plain_text_where_brokers_want_tls_all_at_once_is_named_by_each_service(
    plain: Settings, call: Call, tmp_path: Path
) -> None:
    renew(tmp_path / "others")
    tls = tls_port(tmp_path / "others", port=plain.broker.port)
    refused(in_the_place_of_the_broker(plain, tls), refusals.WANTS_TLS, plain, tmp_path / "services")
    nothing_is_lost(plain, call)


def refused(fault: AbstractContextManager[None], sentence: str, settings: Settings, folder: Path) -> None:
    """The services run; then there is the fault, and each of them ends with its sentence. The API stays, says so a few
    times at most, and is ready when the fault is mended.
    """
    folder.mkdir()
    logs = {name: folder / f"{name}.log" for name in SERVICES}
    with ExitStack() as all_of_them:
        begun = {
            name: all_of_them.enter_context(process(arguments, settings_of(settings, "lake"), logs[name]))
            for name, arguments in SERVICES.items()
        }
        wait_until(lambda: '"batch_id"' in said(logs["stream"]), logs["stream"], START_SECONDS)
        wait_until(lambda: ready(settings) == "ready", logs["api"], SECONDS)
        with fault:
            for name in ("simulate", "seal", "stream"):
                assert begun[name].wait(SECONDS) == AccessRefused.exit_code, (name, logs[name].read_text()[-3000:])
                assert refusal(logs[name]).startswith(f"pts: {sentence}")
            wait_until(lambda: ready(settings) == "The brokers refuse this service.", logs["api"], SECONDS)
            wait_for(logs["api"], f"pts: warning: {sentence}")
        wait_until(lambda: ready(settings) == "ready", logs["api"], SECONDS)
    assert said(logs["api"]).count(sentence) <= 3, "by its two clients, and once more after an outage"
    assert "Traceback" not in "".join(map(said, logs.values()))


def said(log: Path) -> str:
    return log.read_text()


def ready(settings: Settings) -> str:
    """What the API says of itself."""
    try:
        told = httpx.get(f"{settings.api.url}/readyz", timeout=10).json()
    except httpx.TransportError:
        return ""
    return str(told.get("status") if "detail" not in told else told["detail"])


def nothing_is_lost(settings: Settings, call: Call) -> None:
    """All that the feed has sent is sealed, each record once, and in the tables."""
    environment = settings_of(settings, "lake")
    for command in (["seal", "--drain"], ["stream", "--drain"]):
        drained = call(command, environment)
        assert drained.returncode == 0, drained.stderr
    admin = Connection.of(settings, "admin")
    sent, kept = (  # by their times: a key that is no tracking number is not kept
        sorted(each.timestamp_ms for each in messages(admin, topic)) for topic in ("ship-events-intake", "ship-events")
    )
    assert sent == kept
    assert len(kept) > 100
    assert_lake_equals_log(str(settings.home / "lake"), read_log(settings.bootstrap_servers, security=admin.security))
