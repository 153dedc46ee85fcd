"""The embedded broker: Apache Kafka itself, one node on the loopback interface, its data under `$PTS_HOME/kafka`."""

import base64
import os
import secrets
import shutil
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template
from tempfile import NamedTemporaryFile
from typing import NoReturn, get_args

import pipelines
from pipelines import commands
from pipelines.errors import BrokerUnavailable, InvalidInput, SetupIncomplete
from pipelines.host_environment import leave_aside, scratch_below
from pipelines.io.kafka.connection import Principal, login_passwords, password_file, secrets_of
from pipelines.java_runtime import JARS, JAVA, RUNTIME
from pipelines.processes.atomic_file import write_whole
from pipelines.processes.ports import why_unusable
from pipelines.processes.signals import signals_interrupt
from pipelines.settings import Settings
from pipelines.stack.certificates import renew

CONFIGURATION = Path(pipelines.__file__).parent.parent / "infra" / "kafka"
AOT_CACHE = RUNTIME / "kafka.aot"
"""What Java recorded of a run of the broker (`infra/aot_cache.py`), to start faster."""
LEAST_FREE_MB = 512


def run(_command: commands.Broker, settings: Settings, java_options: Sequence[str] = ()) -> NoReturn:
    """Becomes the broker: this process is replaced by Java, so its pid is the broker's and signals reach it.

    SIGTERM is a clean shutdown. Raises what `check` raises.
    """
    check(settings)
    leave_aside(os.environ)
    folder = settings.home.resolve() / "kafka"
    properties, data = folder / "server.properties", folder / "data"
    passwords = prepare(settings)
    try:
        scratch = scratch_below(settings.home)
        data.mkdir(parents=True, exist_ok=True)
        values = {
            "port": settings.broker.port,
            "controller_port": settings.broker.controller_port,
            "data": data,
            "secrets": secrets_of(settings.home),
            "password": passwords.get("admin"),
        }
        parts = ["server.properties", *(["secure.properties"] if passwords else [])]
        text = "".join((CONFIGURATION / part).read_text(encoding="utf-8") for part in parts)
        write_whole(properties, Template(text).substitute(values), is_secret=True)
    except OSError as error:
        raise BrokerUnavailable(
            f"The broker cannot write its data under {folder}: {error.strerror}. PTS_HOME names another folder."
        ) from error
    if not (data / "meta.properties").exists():
        _format(properties, settings.broker.heap_mb, passwords)
    # What its codecs unpack there, is code: /tmp may allow none.
    options = [f"-Djava.io.tmpdir={scratch}", *java_options]
    command = _java(settings.broker.heap_mb, "kafka.Kafka", str(properties), options=options)
    os.execv(command[0], command)


def prepare(settings: Settings) -> dict[Principal, str]:
    """Makes what the secure profile needs and is not there yet, a password for each principal and certificates, and
    returns the passwords; in the plain profile, nothing.

    Raises `BrokerUnavailable` when they cannot be written.
    """
    if settings.profile == "plain":
        return {}
    folder = secrets_of(settings.home)
    try:
        renew(folder)
        for principal in get_args(Principal):
            if not password_file(folder, principal).exists():
                write_whole(password_file(folder, principal), secrets.token_urlsafe(32), is_secret=True)
        return login_passwords(settings.home)
    except OSError as error:
        raise BrokerUnavailable(f"The broker's secrets cannot be written in {folder}: {error.strerror}.") from error


def check(settings: Settings) -> None:
    """Whether the broker could start, found out before a JVM is.

    Raises `InvalidInput` beside an external broker, and in the secure profile on data without logins;
    `SetupIncomplete` without Java or jars; `BrokerUnavailable` when a port is taken or the disk is full.
    """
    if not settings.has_embedded_broker:
        raise InvalidInput(
            f"PTS_KAFKA__BOOTSTRAP_SERVERS={settings.kafka.bootstrap_servers} names a broker, so none is started. "
            "Unset it for the embedded one."
        )
    if not JAVA.exists() or not any((JARS / "kafka").glob("*.jar")):
        raise SetupIncomplete(f"There is no Java runtime with the broker's jars under {RUNTIME}. Run `make setup`.")
    if settings.broker.port == settings.broker.controller_port:
        raise InvalidInput(
            f"PTS_BROKER__PORT and PTS_BROKER__CONTROLLER_PORT are both {settings.broker.port}: they must differ."
        )
    is_used = (settings.home / "kafka" / "data" / "meta.properties").exists()
    if settings.profile == "secure" and is_used and not password_file(secrets_of(settings.home), "admin").exists():
        raise InvalidInput(
            f"The broker's data in {settings.home.resolve()} was begun without logins, which can only be given to new "
            "data: set PTS_HOME to another folder for PTS_PROFILE=secure."
        )
    _check_port(settings.broker.port, "PTS_BROKER__PORT")
    _check_port(settings.broker.controller_port, "PTS_BROKER__CONTROLLER_PORT")
    existing = next(folder for folder in (settings.home.resolve(), *settings.home.resolve().parents) if folder.exists())
    free_mb = shutil.disk_usage(existing).free >> 20
    if free_mb < LEAST_FREE_MB:
        raise BrokerUnavailable(
            f"Only {free_mb} MiB are free under {existing}; the broker needs {LEAST_FREE_MB}. "
            "Make room, or set PTS_HOME to another disk."
        )


def _check_port(port: int, setting: str) -> None:
    if why := why_unusable(port):
        raise BrokerUnavailable(f"Port {port} cannot be used: {why}. Set {setting} to a free port.")


def _format(properties: Path, heap_mb: int, passwords: Mapping[Principal, str]) -> None:
    """Marks the empty data folder as this new cluster's own, with its first users. Kafka never starts on a folder that
    is not.
    """
    encoded = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode()
    cluster_id = encoded.rstrip("=").replace("-", "_")  # no leading dash on a command line
    arguments = ["format", "--ignore-formatted", "-t", cluster_id, "-c", str(properties)]
    for name, password in passwords.items():
        arguments += ["--add-scram", f"SCRAM-SHA-512=[name={name},password={password}]"]
    with NamedTemporaryFile("w", encoding="utf-8") as file:  # everybody may read the arguments of a process
        file.write("\n".join(arguments))
        file.flush()
        command = _java(heap_mb, "kafka.tools.StorageTool", f"@{file.name}")
        with signals_interrupt():  # whatever ends this process ends Java first
            done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise BrokerUnavailable(
            f"Kafka could not prepare {properties.parent}: {said[-1] if said else f'it ended with {done.returncode}'}"
        )


def _java(heap_mb: int, main: str, *arguments: str, options: Sequence[str] = ()) -> list[str]:
    return [
        str(JAVA),
        f"-Xmx{heap_mb}m",
        "-XX:+UseSerialGC",  # a small heap on few cores: fewer threads, less memory
        # The optimising compiler would take the cores from the job, for a broker that mostly waits.
        "-XX:TieredStopAtLevel=1",
        *([f"-XX:AOTCache={AOT_CACHE}"] if AOT_CACHE.exists() else []),
        "-Xlog:aot*=error",  # what of the cache it could not use, it would tell in the log
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:+PerfDisableSharedMem",
        "--sun-misc-unsafe-memory-access=allow",  # as Kafka's index files and codecs need; Java 25 warns without
        "--enable-native-access=ALL-UNNAMED",
        "-Djava.awt.headless=true",
        f"-Dlog4j2.configurationFile={(CONFIGURATION / 'log4j2.properties').as_uri()}",
        *options,
        "-cp",
        str(JARS / "kafka" / "*"),
        main,
        *arguments,
    ]
