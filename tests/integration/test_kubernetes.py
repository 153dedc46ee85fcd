"""The job on executors that Kubernetes starts, with the settings and rights of the manifests.

Its API and its nodes are the tests' own (`tests/kubernetes.py`); no image and no kubelet is tried.
"""

import json
from pathlib import Path

import kubernetes_validate
import pytest

from pipelines import commands
from pipelines.settings import Settings
from pipelines.stack import simulate
from tests.comparison import assert_lake_equals_log
from tests.docs.pages import ROOT
from tests.integration.log_reader import read_log
from tests.integration.pts_process import SHORT_LIVED, pts, settings_of
from tests.kubernetes import DRIVER, NAMESPACE, Cluster, cluster, manifests

pytestmark = pytest.mark.long

FEED = commands.Simulate(seed=6, packages=200, rate=0, count=4_000)
SECRET = "a-cluster-of-strangers"


def test_executors_are_pods_that_strangers_learn_nothing_from(new_log: Settings, tmp_path: Path) -> None:
    simulate.run(FEED, new_log)
    with cluster(tmp_path / "cluster") as kubernetes:
        done = pts(["stream", "--drain"], on(kubernetes, new_log, tmp_path))
        logs = [log.read_text() for log in kubernetes.folder.glob("*.log")]
        assert done.returncode == 0, "\n".join(text[-3000:] for text in (done.stderr, *logs))
        assert kubernetes.refused == []
        assert len(kubernetes.pods) == 2
        assert any("Finished task" in log for log in logs)
        assert not any("[aot" in log for log in logs), "each could use the cache that the set-up has recorded"
        for pod in kubernetes.pods.values():
            kubernetes_validate.validate(pod, kubernetes_validate.latest_version(), strict=True)
            assert SECRET not in json.dumps(pod)
            assert pod["metadata"]["ownerReferences"][0]["name"] == DRIVER, "it goes with its driver"
            container = pod["spec"]["containers"][0]
            assert any("-XX:AOTCache=" in str(variable.get("value")) for variable in container["env"])
            assert container["securityContext"]["readOnlyRootFilesystem"]
            assert {"name": "pts-spark-volume", "mountPath": "/run/secrets/spark"} in container["volumeMounts"]
    assert_lake_equals_log(str(new_log.home / "lake"), read_log(str(new_log.kafka.bootstrap_servers)))


def on(kubernetes: Cluster, log: Settings, folder: Path) -> dict[str, str]:
    """The driver's environment: as the manifest has it, on this machine's paths and addresses."""
    secret = folder / "secret"
    secret.write_text(SECRET)
    secret.chmod(0o600)
    stream = next(each for each in manifests("stream.yaml") if each["kind"] == "Deployment")
    variables = {each["name"]: each for each in stream["spec"]["template"]["spec"]["containers"][0]["env"]}
    conf = variables["PTS_SPARK__CONF"]["value"]
    for there, here in [
        ("$(NAMESPACE)", NAMESPACE),
        ("$(POD)", DRIVER),
        ("$(IMAGE)", "pts"),
        ('"pts-stream"', '"127.0.0.1"'),
        ("0.0.0.0", "127.0.0.1"),
        ("/opt/pts", str(ROOT)),
        ("/run/secrets/spark/secret", str(secret)),
    ]:
        assert there in conf, there
        conf = conf.replace(there, here)
    properties = json.loads(conf) | SHORT_LIVED | {"spark.executor.memory": "700m"}
    master = variables["PTS_SPARK__MASTER"]["value"].replace("https://kubernetes.default.svc", kubernetes.url)
    return settings_of(log, "lake", PTS_SPARK__MASTER=master, PTS_SPARK__CONF=json.dumps(properties))
