"""The compose file: its form, and whether its services are commands with settings that fit."""

import hashlib
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import typer
import yaml

from pipelines.cli.main import app
from pipelines.kafka_security import is_loopback
from pipelines.settings import load_settings

HERE = Path(__file__).parent
INFRA = HERE.parents[1] / "infra"
COMPOSE: dict[str, Any] = yaml.safe_load((INFRA / "compose" / "compose.yaml").read_text(encoding="utf-8"))
SERVICES = {name: service for name, service in COMPOSE["services"].items() if service["image"] == "pts"}
PTS: Any = typer.main.get_command(app)


def test_file_is_what_compose_takes() -> None:
    name, _, _, _, checksum = (HERE / "vendored.lock").read_text(encoding="utf-8").splitlines()[1].split()
    schema = (HERE / name).read_bytes()
    assert hashlib.sha256(schema).hexdigest() == checksum
    validator = jsonschema.Draft7Validator(json.loads(schema))
    assert [fault.message for fault in validator.iter_errors(COMPOSE)] == []
    assert list(validator.iter_errors(COMPOSE | {"services": {"stream": {"comand": ["stream"]}}}))


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_a_command_with_settings_that_fit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = SERVICES[name]
    for variable, value in service["environment"].items():
        if variable.endswith("_FILE"):
            secret = tmp_path / Path(value).name
            assert secret.name in {each["source"] for each in service["secrets"]}
            secret.write_text("a secret")
            secret.chmod(0o600)
            value = str(secret)
        monkeypatch.setenv(variable, value)
    settings = load_settings()
    assert settings.lake_root == "/var/lib/lake/pts"
    assert "lake:/var/lib/lake" in service["volumes"]
    assert service["command"][0] in PTS.commands
    published = {"api": settings.api.port, "board": settings.board.port, "airflow": settings.airflow.port}
    for port in service.get("ports", []):
        address, _, inside = port.split(":")
        assert is_loopback(address)
        assert int(inside) == published[name]


@pytest.mark.parametrize("name", SERVICES)
def test_container_may_do_no_more_than_it_must(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"]
    assert service["cap_drop"] == ["ALL"]
    assert {volume.rpartition(":")[2] for volume in service["volumes"]} == {"/var/lib/pts", "/var/lib/lake"}


def test_image_is_made_of_what_the_set_up_makes() -> None:
    text = (INFRA / "container" / "Dockerfile").read_text(encoding="utf-8")
    assert "RUN make setup" in text
    for line in text.splitlines():
        if line.startswith("ENTRYPOINT"):
            assert (INFRA.parent / json.loads(line.partition(" ")[2])[1].removeprefix("/opt/pts/")).is_file()
