"""The stack's rules, without a JVM."""

import os
import subprocess
import sys
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines import commands, settings_variables
from pipelines.errors import AccessRefused, BrokerUnavailable, InvalidInput, StackError
from pipelines.io.kafka.connection import secrets_of
from pipelines.kafka_security import Security
from pipelines.processes.log_tail import LogTail
from pipelines.processes.pid_lock import guarded, holder
from pipelines.processes.supervisor import CONFIGURATION, SERVICES, Supervisor
from pipelines.settings import Airflow, Api, Board, Broker, Kafka, Seal, Settings, SqlServer
from pipelines.stack import broker, certificates, stack
from tests.permissions import permitted_beyond
from tests.tls import tls_port
from tests.waiting import becomes

AIRFLOW = ("airflow-api-server", "airflow-dag-processor", "airflow-scheduler")
EXTERNAL = Kafka(bootstrap_servers="kafka.example:9092", security=Security(protocol="SSL"))


@contextmanager
def process_holding(pid_file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the pid file, across an exec, in a group of its own as the supervisor's children are."""
    command = guarded(pid_file, [sys.executable, "-c", "import time; time.sleep(60)"])
    process = subprocess.Popen(command, start_new_session=True)
    try:
        assert becomes(lambda: holder(pid_file) == process.pid, 60)
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("named", "kafka", "wanted"),
    [
        ((), Kafka(), ("broker", "stream", "simulate", "api", "board", *AIRFLOW)),
        (("airflow",), Kafka(), ("broker", *AIRFLOW)),
        (("airflow",), EXTERNAL, AIRFLOW),
        (("simulate",), Kafka(), ("broker", "simulate")),
        (("broker",), Kafka(), ("broker",)),
        ((), EXTERNAL, ("stream", "api", "board", *AIRFLOW)),
        (("api",), Kafka(), ("broker", "api")),
        (("sql",), Kafka(), ("broker", "sql")),
        (("sql",), EXTERNAL, ("sql",)),
        (("simulate",), EXTERNAL, ("simulate",)),
        (("stream",), EXTERNAL, ("stream",)),
    ],
)
def test_named_services_bring_what_they_need(named: tuple[str, ...], kafka: Kafka, wanted: tuple[str, ...]) -> None:
    assert stack.wanted_services(named, Settings(kafka=kafka)) == wanted


SEALING = Seal(enabled=True)


@pytest.mark.parametrize(
    ("named", "kafka", "wanted"),
    [
        ((), Kafka(), ("broker", "stream", "seal", "simulate", "api", "board", *AIRFLOW)),
        ((), EXTERNAL, ("stream", "seal", "api", "board", *AIRFLOW)),
        (("seal",), Kafka(), ("broker", "seal")),
        (("stream",), Kafka(), ("broker", "stream")),
    ],
)
def test_sealer_is_a_service_where_fields_are_sealed(
    named: tuple[str, ...], kafka: Kafka, wanted: tuple[str, ...]
) -> None:
    assert stack.wanted_services(named, Settings(kafka=kafka, seal=SEALING)) == wanted


def test_sealer_that_is_named_where_sealing_is_off_is_refused() -> None:
    with pytest.raises(InvalidInput, match="PTS_SEAL__ENABLED=true"):
        stack.wanted_services(["seal"], Settings())


def test_sealer_is_listed_where_fields_are_sealed_and_wherever_it_runs(tmp_path: Path) -> None:
    sealing, open_ = Settings(home=tmp_path, seal=SEALING), Settings(home=tmp_path)
    assert "seal" in stack.services(sealing)
    assert "seal" not in stack.services(open_)
    (tmp_path / "run").mkdir()
    with process_holding(tmp_path / "run" / "seal.pid") as sealer:
        assert stack.services(open_)["seal"].pid == sealer.pid
        stack.stop(open_, lambda _: None)
        assert sealer.wait(timeout=60) != 0


def test_broker_beside_an_external_one_is_refused() -> None:
    with pytest.raises(InvalidInput, match="PTS_KAFKA__BOOTSTRAP_SERVERS"):
        stack.wanted_services(["broker"], Settings(kafka=EXTERNAL))


def test_unknown_service_is_named() -> None:
    with pytest.raises(InvalidInput, match="no service brocker"):
        stack.wanted_services(["brocker"], Settings())


def test_taken_port_is_named_with_its_setting_before_java_starts(taken_port: int, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, broker=Broker(port=taken_port))

    with pytest.raises(BrokerUnavailable, match=f"Port {taken_port} .* PTS_BROKER__PORT"):
        stack.start(["broker"], settings, print)
    assert not stack.is_running(settings)


def test_taken_port_of_airflow_is_named_with_its_setting(taken_port: int, tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, kafka=EXTERNAL, airflow=Airflow(port=taken_port))

    with pytest.raises(StackError, match=f"Port {taken_port} .* PTS_AIRFLOW__PORT"):
        stack.start(["airflow"], settings, print)
    assert not stack.is_running(settings)


@pytest.mark.parametrize("name", ["api", "board", "sql"])
def test_taken_port_of_a_server_is_named_with_its_setting(name: str, taken_port: int, tmp_path: Path) -> None:
    api, board, sql = Api(port=taken_port), Board(port=taken_port), SqlServer(port=taken_port)
    settings = Settings(home=tmp_path, kafka=EXTERNAL, api=api, board=board, sql=sql)

    with pytest.raises(StackError, match=f"Port {taken_port} .* PTS_{name.upper()}__PORT"):
        stack.start([name], settings, print)
    assert not stack.is_running(settings)


def test_services_are_stopped_in_the_order_of_their_priorities() -> None:
    configuration = ConfigParser(interpolation=None)
    configuration.read(CONFIGURATION)
    programs = {name.removeprefix("program:"): configuration[name] for name in configuration if ":" in name}
    priorities = {name: int(program["priority"]) for name, program in programs.items() if "priority" in program}
    waits = [int(program["stopwaitsecs"]) for program in programs.values() if "stopwaitsecs" in program]

    assert tuple(sorted(priorities, key=lambda name: -priorities[name])) == stack.STOP_ORDER
    assert set(stack.STOP_ORDER) == set(SERVICES)
    assert sum(waits) < stack.STOP_SECONDS


def test_the_job_and_the_scheduler_come_after_services_that_answer(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    told = Supervisor(Settings(home=tmp_path)).environment()
    of_services = {name: told[f"STACK_{name.upper().replace('-', '_')}"] for name in SERVICES}
    behind = {name for name, line in of_services.items() if line.startswith("nice -n 5 /")}
    assert behind == {"stream", "airflow-scheduler"}


def test_home_that_cannot_be_written_is_a_sentence(free_ports: tuple[int, int], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    settings = Settings(
        home=tmp_path / "file" / "home", broker=Broker(port=free_ports[0], controller_port=free_ports[1])
    )

    with pytest.raises(StackError, match=r"PTS_HOME .* cannot be written"):
        stack.start(["broker"], settings, print)


def test_one_port_for_two_purposes_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must differ"):
        broker.check(Settings(broker=Broker(port=5000, controller_port=5000)))


def test_pid_of_a_process_that_is_gone_counts_for_nothing(tmp_path: Path) -> None:
    (tmp_path / "stream.pid").write_text(str(os.getpid()))

    assert holder(tmp_path / "stream.pid") is None


def test_second_process_on_a_pid_file_is_refused(tmp_path: Path) -> None:
    with process_holding(tmp_path / "broker.pid") as first:
        second = subprocess.run(
            guarded(tmp_path / "broker.pid", ["/bin/true"]), capture_output=True, text=True, timeout=30, check=False
        )

        assert second.returncode == 1
        assert f"broker already runs as process {first.pid}" in second.stderr


def test_process_that_its_supervisor_left_behind_is_found_refused_and_stopped(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, kafka=EXTERNAL)
    (tmp_path / "run").mkdir()
    with process_holding(tmp_path / "run" / "stream.pid") as orphan:
        assert stack.services(settings)["stream"].state == "ORPHANED"
        with pytest.raises(StackError, match=rf"stream \(process {orphan.pid}\) running. `pts down`"):
            stack.start([], settings, print)

        assert stack.stop(settings, print)

        assert orphan.wait(timeout=60) == -15
    assert not stack.stop(settings, print)


def test_home_with_a_path_too_long_for_a_socket_gets_one_elsewhere(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path / ("x" * 120))
    supervisor = Supervisor(settings)
    supervisor.launch()
    try:
        socket = Path((settings.home / "run" / "socket").read_text())
        assert len(str(socket)) < 100
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        assert {service.state for service in supervisor.services().values()} == {"STOPPED"}
    finally:
        assert stack.stop(settings, print)
    assert not socket.parent.exists()


def test_services_get_the_settings_of_the_stack_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(home=tmp_path, kafka=Kafka(partitions=7), lake="s3://bucket/lake")
    for name, value in settings_variables.as_variables(settings).items():
        monkeypatch.setenv(name, value)

    assert Settings() == settings


def test_tail_gives_complete_lines_across_a_rotation(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    log.write_text("old\n")
    tail = LogTail(log)
    with log.open("a") as file:
        file.write("one\ntw")
    assert tail.lines() == ["one"]
    with log.open("a") as file:
        file.write("o\n")
    log.rename(tmp_path / "stream.log.1")
    log.write_text("three\n")

    assert tail.lines() == ["two", "three"]


def test_last_error_is_the_sentence_of_this_run(tmp_path: Path) -> None:
    log = tmp_path / "stream.log"
    log.write_text("pts: an old failure\n")
    tail = LogTail(log)
    assert tail.last_error() == "it wrote nothing"
    with log.open("a") as file:
        file.write("WARN noise\npts: The lake cannot be written.\nnoise\n")

    assert tail.last_error() == "The lake cannot be written."


@pytest.mark.parametrize(
    ("written", "last_words"),
    [
        ("pts: The cause.\nlater noise\n", "The cause."),
        ("T ERROR x\nTraceback (most recent call last):\n  File y\nValueError: z\n\tat Java\nat\n", "ValueError: z"),
        ("T ERROR log failed\nshut down\n", "T ERROR log failed"),
        ("pts: warning: PTS_X is no setting.\nKilled\n", "Killed"),
    ],
)
def test_last_words_are_the_most_telling_line(written: str, last_words: str, tmp_path: Path) -> None:
    tail = LogTail(tmp_path / "stream.log")
    (tmp_path / "stream.log").write_text(written)

    assert tail.last_error() == last_words


def test_secrets_of_the_secure_profile_are_made_once_and_for_this_user_alone(tmp_path: Path) -> None:
    settings = Settings(home=tmp_path, profile="secure")
    before = os.umask(0)
    try:
        passwords = broker.prepare(settings)
    finally:
        os.umask(before)
    assert set(passwords) == {"admin", "job", "simulator", "api", "sealer"}
    assert len(set(passwords.values())) == len(passwords)
    assert min(map(len, passwords.values())) >= 40
    assert permitted_beyond(0o077, secrets_of(tmp_path)) == {}
    assert broker.prepare(settings) == passwords
    assert broker.prepare(Settings(home=tmp_path)) == {}


def test_certificate_that_ran_out_under_a_broker_is_renewed_and_the_broker_has_to_start_again(tmp_path: Path) -> None:
    secure = Settings(home=tmp_path, profile="secure")
    broker.prepare(secure)
    folder = secrets_of(tmp_path)
    (folder / "broker.pem").unlink()
    certificates.renew(folder, datetime.now(UTC) - timedelta(days=365))
    with tls_port(folder) as there:
        secure = secure.model_copy(update={"broker": Broker(port=there.port)})
        for _ in range(2):  # the second time, there is nothing left to renew
            with pytest.raises(AccessRefused, match=r"`pts down`, then `pts up`\. .* has expired"):
                certificates.run(commands.Certificates(), secure)
    assert certificates.expires_at(folder / "broker.pem") > datetime.now(UTC)
    assert certificates.run(commands.Certificates(), secure), "where no broker runs, it is renewed, and that is all"


def test_data_that_was_begun_without_logins_is_refused_in_the_secure_profile(
    tmp_path: Path, free_ports: tuple[int, int]
) -> None:
    (tmp_path / "kafka" / "data").mkdir(parents=True)
    (tmp_path / "kafka" / "data" / "meta.properties").touch()
    ports = Broker(port=free_ports[0], controller_port=free_ports[1])
    with pytest.raises(InvalidInput, match=r"was begun without logins, .* set PTS_HOME to another folder"):
        broker.check(Settings(home=tmp_path, profile="secure", broker=ports))
    broker.check(Settings(home=tmp_path, broker=ports))


def test_certificates_are_renewed_a_month_before_their_end_and_those_of_an_old_authority_with_it(
    tmp_path: Path,
) -> None:
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    assert certificates.renew(tmp_path, begun) == ["ca", "controller", "broker"]
    assert certificates.renew(tmp_path, begun + timedelta(days=59)) == []
    assert certificates.renew(tmp_path, begun + timedelta(days=61)) == ["broker"]
    assert certificates.expires_at(tmp_path / "broker.pem") == begun + timedelta(days=61 + 90)
    assert certificates.renew(tmp_path, begun + timedelta(days=3_640)) == ["ca", "controller", "broker"]
