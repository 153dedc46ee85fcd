"""The manifests: what a cluster would say of them, and whether they say what the product expects."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import typer
import yaml

from pipelines import session
from pipelines.cli.main import app
from pipelines.settings import load_settings
from tests.kubernetes import MANIFESTS, Manifest, manifests

APPLIED = yaml.safe_load((MANIFESTS / "kustomization.yaml").read_text(encoding="utf-8"))["resources"]
FILES = "/run/secrets/"
PTS: Any = typer.main.get_command(app)
VERSION = kubernetes_validate.latest_version()


def pods() -> Iterator[tuple[str, Manifest]]:
    """Pods of all workloads, and that of executors."""
    for each in manifests(*APPLIED):
        if template := each.get("spec", {}).get("template"):
            yield each["metadata"]["name"], template
    yield "executor", manifests("executor.yaml")[0]


PODS = dict(pods())
CONTAINERS = {name: pod["spec"]["containers"][0] for name, pod in PODS.items()}
COMMANDS = {name: container["args"] for name, container in CONTAINERS.items() if "args" in container}


def test_everything_that_lies_there_is_applied() -> None:
    assert {path.name for path in MANIFESTS.glob("*.yaml")} - {"kustomization.yaml", "executor.yaml"} == set(APPLIED)


@pytest.mark.parametrize("manifest", manifests(*APPLIED), ids=lambda each: f"{each['kind']}-{each['metadata']['name']}")
def test_manifest_is_of_its_kind(manifest: Manifest) -> None:
    kubernetes_validate.validate(manifest, VERSION, strict=True)


def test_field_that_there_is_not_is_found() -> None:
    wrong = manifests("rights.yaml")[0] | {"metadatum": {}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)


@pytest.mark.parametrize("name", PODS)
def test_pod_may_do_no_more_than_it_must(name: str) -> None:
    spec, container = PODS[name]["spec"], CONTAINERS[name]
    assert spec["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    asks_the_api = spec.get("automountServiceAccountToken", True)
    assert asks_the_api == (name == "pts-stream"), "the driver starts pods, and nobody else does"
    writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
    assert writable == {"/var/lib/pts"}, "$PTS_HOME of the image"


@pytest.mark.parametrize("name", COMMANDS)
def test_container_runs_a_command_with_settings_that_fit(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    mounted = {mount["mountPath"] for mount in CONTAINERS[name]["volumeMounts"]}
    for variable, value in variables(name):
        if FILES in value and variable.endswith("_FILE"):
            assert str(Path(value).parent) in mounted, value
            value = str(tmp_path / Path(value).name)
            Path(value).write_text("a secret")
            Path(value).chmod(0o600)
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("PTS_HOME", str(tmp_path))
    settings = load_settings()
    assert settings.kafka.security.is_encrypted
    assert settings.lake_root.startswith("s3://")
    assert COMMANDS[name][0] in PTS.commands


def variables(name: str) -> Iterator[tuple[str, str]]:
    """Settings of a container, as its environment has them."""
    shared = manifests("settings.yaml")[0]["data"]
    own = {each["name"]: each["value"] for each in CONTAINERS[name].get("env", []) if "value" in each}
    yield from ((variable, value) for variable, value in (shared | own).items() if variable.startswith("PTS_"))


def test_services_lead_to_ports_on_which_somebody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    defaults = load_settings()
    listens = {"pts-api": {defaults.api.port}, "pts-board": {defaults.board.port}}
    listens["pts-stream"] = {int(session.CLUSTER[f"spark.{name}.port"]) for name in ("driver", "blockManager")}
    for service in (each for each in manifests(*APPLIED) if each["kind"] == "Service"):
        (app_name,) = service["spec"]["selector"].values()
        assert PODS[app_name]["metadata"]["labels"] == service["spec"]["selector"]
        ports = {port["name"]: port["containerPort"] for port in CONTAINERS[app_name]["ports"]}
        reached = {ports.get(port.get("targetPort"), port["port"]) for port in service["spec"]["ports"]}
        assert reached == set(ports.values()) == listens[app_name]


def test_network_lets_in_who_uses_a_port() -> None:
    let_in: dict[str, Any] = {each["metadata"]["name"]: each["spec"] for each in manifests("network.yaml")}
    assert "ingress" not in let_in["pts-nobody"], "what no other line lets in is out"
    assert let_in["pts-nobody"]["podSelector"] == {}
    driver = {port["port"] for port in let_in["pts-driver"]["ingress"][0]["ports"]}
    assert driver == {port["containerPort"] for port in CONTAINERS["pts-stream"]["ports"]}
    pages = {port["port"] for port in let_in["pts-pages"]["ingress"][0]["ports"]}
    assert pages == {CONTAINERS[name]["ports"][0]["containerPort"] for name in ("pts-api", "pts-board")}


def test_executors_share_the_drivers_secret_by_a_file() -> None:
    conf = json.loads(dict(variables("pts-stream"))["PTS_SPARK__CONF"])
    folder = conf["spark.kubernetes.executor.secrets.pts-spark"]
    assert conf["spark.authenticate.secret.file"] == f"{folder}/secret"
    assert folder in {mount["mountPath"] for mount in CONTAINERS["pts-stream"]["volumeMounts"]}
    template = conf["spark.kubernetes.executor.podTemplateFile"].removeprefix("/opt/pts/")
    assert MANIFESTS.parents[1] / template == MANIFESTS / "executor.yaml"
