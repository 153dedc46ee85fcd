"""As much of Kubernetes as Spark asks for: an API that takes pods, and runs their containers as processes.

The API permits what the role of `infra/kubernetes/rights.yaml` permits, and says 403 to all else. There is no image:
a container is the entry point of this working tree, on this machine.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import NAMESPACE_URL, uuid5

import yaml

MANIFESTS = Path(__file__).parents[1] / "infra" / "kubernetes"
ENTRY_POINT = Path(__file__).parents[1] / "infra" / "container" / "entry_point.py"
NAMESPACE = "pts"
DRIVER = "pts-stream-0"
OWN = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": DRIVER}}
"""The driver's pod, which is there before it asks."""

BEGIN = "2026-01-01T00:00:00Z"

Manifest = dict[str, Any]


def manifests(*names: str) -> list[Manifest]:
    """What the files hold, all of them without a name."""
    files = [MANIFESTS / name for name in names] if names else sorted(MANIFESTS.glob("*.yaml"))
    return [each for file in files for each in yaml.safe_load_all(file.read_text(encoding="utf-8"))]


@dataclass
class Cluster:
    """What was asked of it.

    Attributes:
        pods: Those that were made, by name, as the API was given them.
        refused: Requests that the role does not permit, as `create services`.
    """

    folder: Path
    rules: list[Manifest]
    url: str = ""
    pods: dict[str, Manifest] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    changed: Condition = field(default_factory=Condition)
    events: list[Manifest] = field(default_factory=list)
    processes: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)

    def permits(self, verb: str, resource: str) -> bool:
        if any(verb in rule["verbs"] and resource in rule["resources"] for rule in self.rules):
            return True
        self.refused.append(f"{verb} {resource}")
        return False

    def create(self, pod: Manifest) -> Manifest:
        name = pod["metadata"]["name"]
        self.pods[name] = pod
        container, own = pod["spec"]["containers"][0], self.folder / name
        own.mkdir()
        with own.with_suffix(".log").open("wb") as out:
            self.processes[name] = subprocess.Popen(
                [sys.executable, ENTRY_POINT, *container["args"]],
                env=environment(pod, container, own),
                cwd=own,
                stdout=out,
                stderr=out,
            )
        return self._tell("ADDED", pod)

    def delete(self, name: str) -> None:
        if process := self.processes.pop(name, None):
            process.kill()
            process.wait()
            self._tell("DELETED", self.pods[name])

    def shown(self, pod: Manifest) -> Manifest:
        name = pod["metadata"]["name"]
        is_alive = name == DRIVER or (name in self.processes and self.processes[name].poll() is None)
        own = {"uid": str(uuid5(NAMESPACE_URL, name)), "creationTimestamp": BEGIN, "resourceVersion": "1"}
        status = {
            "phase": "Running" if is_alive else "Failed",
            "conditions": [{"type": "Ready", "status": str(is_alive)}],
            "podIP": "127.0.0.1",
            "startTime": BEGIN,
        }
        return pod | {"metadata": pod["metadata"] | own, "status": status}

    def _tell(self, kind: str, pod: Manifest) -> Manifest:
        with self.changed:
            self.events.append({"type": kind, "object": self.shown(pod)})
            self.changed.notify_all()
            return self.events[-1]["object"]  # type: ignore[no-any-return]


def environment(pod: Manifest, container: Manifest, folder: Path) -> dict[str, str]:
    """Variables as a kubelet sets them; folders of volumes are below the pod's own."""
    fields = {"status.podIP": "127.0.0.1", "metadata.name": pod["metadata"]["name"]}
    volumes = {mount["mountPath"]: folder / mount["name"] for mount in container["volumeMounts"]}
    found = {"PATH": "/usr/bin:/bin"}
    for variable in container["env"]:
        source = variable.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        value = variable.get("value") or fields.get(source, "")
        found[variable["name"]] = str(volumes.get(value, value))
    return found


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """An API on loopback; whatever runs in its pods is gone at the end."""
    folder.mkdir()
    role = next(each for each in manifests("rights.yaml") if each["kind"] == "Role")
    made = Cluster(folder, role["rules"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(made))
    made.url = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield made
    finally:
        for name in list(made.processes):
            made.delete(name)
        server.shutdown()
        server.server_close()


def _handler(cluster: Cluster) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            resource, name, query = self._asked()
            verb = "watch" if "watch" in query else "get" if name else "list"
            if not cluster.permits(verb, resource):
                self._answer(403, {"kind": "Status", "status": "Failure", "code": 403})
            elif verb == "watch" and self.headers["Upgrade"]:
                self._answer(200, {})  # no web socket: the client then asks again, without
            elif verb == "watch":
                with suppress(BrokenPipeError):  # who watched has ended
                    self._watch()
            elif name == DRIVER:
                self._answer(200, cluster.shown(OWN))
            elif name and name not in cluster.pods:
                self._answer(404, {"kind": "Status", "status": "Failure", "code": 404})
            elif name:
                self._answer(200, cluster.shown(cluster.pods[name]))
            else:
                pods = [OWN] if "fieldSelector" in query else list(cluster.pods.values())  # the one, or all by a label
                self._answer(200, _list(resource, [cluster.shown(pod) for pod in pods if resource == "pods"]))

        def do_POST(self) -> None:
            resource, _, _ = self._asked()
            given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not cluster.permits("create", resource):
                self._answer(403, {"kind": "Status", "status": "Failure", "code": 403})
            else:
                self._answer(201, cluster.create(given) if resource == "pods" else given)

        def do_DELETE(self) -> None:
            resource, name, _ = self._asked()
            if not cluster.permits("delete" if name else "deletecollection", resource):
                self._answer(403, {"kind": "Status", "status": "Failure", "code": 403})
                return
            if resource == "pods":
                for pod in [name] if name else list(cluster.pods):
                    cluster.delete(pod)
            self._answer(200, {"kind": "Status", "apiVersion": "v1", "status": "Success"})

        def _asked(self) -> tuple[str, str, Mapping[str, list[str]]]:
            """Resource, name and query of a request."""
            parts = urlsplit(self.path)
            _, _, _, _, namespace, resource, *name = parts.path.split("/")
            assert namespace == NAMESPACE, self.path
            return resource, name[0] if name else "", parse_qs(parts.query)

        def _watch(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            told = 0
            while True:
                with cluster.changed:
                    while len(cluster.events) == told:
                        cluster.changed.wait()
                    news, told = cluster.events[told:], len(cluster.events)
                for event in news:
                    self.wfile.write(json.dumps(event).encode() + b"\n")
                self.wfile.flush()

        def _answer(self, code: int, body: Manifest) -> None:
            text = json.dumps(body).encode()
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def _list(resource: str, there: list[Manifest]) -> Manifest:
    kinds = {"pods": "PodList", "configmaps": "ConfigMapList", "persistentvolumeclaims": "PersistentVolumeClaimList"}
    return {"kind": kinds[resource], "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": there}
