"""Airflow with its own state in PostgreSQL, where Debian's server is installed."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from secrets import token_hex

import psycopg2
import pytest

from pipelines.errors import StackError
from pipelines.processes import airflow
from pipelines.settings import Airflow, Settings
from pipelines.stack import airflow as job
from pipelines.stack import stack
from tests.brokers import embedded
from tests.canaries import Seen, in_files, look
from tests.integration.airflow_api import MOST_SECONDS, Api, password_in
from tests.ports import unused_ports

pytestmark = pytest.mark.long


PROGRAMS = max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None)


@pytest.fixture
def database() -> Iterator[str]:
    """An empty database on a server of its own."""
    if PROGRAMS is None:
        pytest.skip("Debian's package postgresql is not installed")
    port, folder = unused_ports()[0], Path(tempfile.mkdtemp(prefix="pts-postgresql-"))
    user = "postgres" if os.getuid() == 0 else None  # it refuses to run as root
    if user:
        shutil.chown(folder, user)
    data = folder / "data"

    def run(program: str, *arguments: str) -> None:
        command = [str(PROGRAMS.parent / program), *arguments]
        subprocess.run(command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL)

    run("initdb", "--pgdata", str(data), "--username", "pts", "--auth", "trust", "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
    run("pg_ctl", "--pgdata", str(data), "--log", str(folder / "log"), "--options", options, "--wait", "start")
    try:
        run("createdb", "--host", "127.0.0.1", "--port", str(port), "--username", "pts", "airflow")
        yield f"postgresql+psycopg2://pts@127.0.0.1:{port}/airflow"
    finally:
        run("pg_ctl", "--pgdata", str(data), "--mode", "immediate", "--wait", "stop")
        shutil.rmtree(folder)


def test_one_setting_moves_airflows_state_to_postgresql(database: str, tmp_path: Path) -> None:
    made = embedded(tmp_path / "home")
    canary = {"database": f"canary{token_hex(16)}"}  # the server trusts all of this machine
    address = database.replace("pts@", f"pts:{canary['database']}@")
    where = Airflow.model_validate({"port": unused_ports()[0], "database": address})
    settings = made.model_copy(update={"airflow": where})
    said: list[str] = []
    seen = Seen()
    try:
        stack.start(["airflow"], settings, said.append)
        api = Api.of(settings, password_in(said))
        deadline = time.monotonic() + MOST_SECONDS
        while len(api.call("/api/v2/dags")["dags"]) < 2:
            assert time.monotonic() < deadline
            time.sleep(1)
        assert not (airflow.home(settings) / "airflow.db").exists()
        look(settings.home, canary, seen)
        assert [program for program in seen.programs if "airflow" in program]
        assert seen.leaks == set()
        assert in_files(settings.home, canary) == {
            ("database", "run/secrets/PTS_AIRFLOW__DATABASE"),
            ("database", "airflow/database.json"),
        }
        assert job.prepare(settings) is None, "its first user is made once"
    finally:
        stack.stop(settings, lambda _: None)
    with psycopg2.connect(database.replace("+psycopg2", "")) as connection, connection.cursor() as cursor:
        cursor.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
    assert job.prepare(settings), "a database that was rebuilt gets its tables and its first user"


def test_database_that_does_not_answer_is_a_sentence(tmp_path: Path) -> None:
    nowhere = f"postgresql+psycopg2://pts:hunter2@127.0.0.1:{unused_ports()[0]}/airflow"

    with pytest.raises(StackError, match=r"Airflow.s database could not be made ready: .*refused") as refusal:
        job.prepare(Settings(home=tmp_path, airflow=Airflow.model_validate({"database": nowhere})))
    assert "hunter2" not in str(refusal.value)
    assert in_files(tmp_path, {"database": "hunter2"}) == {("database", "airflow/database.json")}
