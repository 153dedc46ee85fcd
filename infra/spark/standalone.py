"""Becomes the master, or a worker, of a Spark standalone cluster, on the Java and the Spark of this environment.

    .venv/bin/python infra/spark/standalone.py master --host 10.0.0.1
    .venv/bin/python infra/spark/standalone.py worker --host 10.0.0.2 spark://10.0.0.1:7077

PTS_SPARK__SECRET_CONF_FILE names the file with the cluster's secret, as for `pts`. Properties are those of
`standalone.properties`, and of PTS_SPARK__CONF; what follows `master` or `worker` are Spark's own options, such as
--cores and --memory.
"""

import os
import sys
from pathlib import Path

import pyspark

from pipelines.errors import PtsError
from pipelines.java_process import as_properties
from pipelines.java_runtime import JAVA, JAVA_HOME
from pipelines.settings import load_settings

PROPERTIES = Path(__file__).resolve().parent / "standalone.properties"
SPARK_HOME = Path(pyspark.__file__).parent
CLASSES = {"master": "org.apache.spark.deploy.master.Master", "worker": "org.apache.spark.deploy.worker.Worker"}
FOR_LITTLE_WORK = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
PORTS = {"master": "7077", "worker": "7078"}


def main(arguments: list[str]) -> None:
    if not arguments or arguments[0] not in CLASSES:
        sys.exit(__doc__)
    role, *options = arguments
    try:
        own = load_settings().spark.properties()
    except PtsError as error:
        sys.exit(f"standalone: {error}")
    if "spark.authenticate.secret" not in own:
        sys.exit("standalone: set spark.authenticate.secret in PTS_SPARK__SECRET_CONF_FILE, for all of the cluster.")
    properties = os.memfd_create("spark.properties", 0)  # this process alone can read it, and Java's children cannot
    os.write(properties, PROPERTIES.read_bytes() + as_properties(own).encode())
    command = [*FOR_LITTLE_WORK, "-cp", f"{SPARK_HOME}/jars/*", CLASSES[role]]
    command += ["--properties-file", f"/proc/self/fd/{properties}", "--port", PORTS[role], *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PTS_")}
    environment |= {"JAVA_HOME": str(JAVA_HOME), "SPARK_HOME": str(SPARK_HOME)}
    environment["SPARK_SCALA_VERSION"] = "2.13"  # which workers would find in Spark's sources
    os.execve(JAVA, ["java", *command], environment)


if __name__ == "__main__":
    main(sys.argv[1:])
