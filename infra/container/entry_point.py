"""Becomes `pts` with the arguments of a container; with `executor` alone, an executor that Spark has on Kubernetes.

Spark sets its variables (BasicExecutorFeatureStep of Spark 4.2.0), and expects of an image that it starts Java with
them, as its own `entrypoint.sh` does.
"""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from pipelines.java_runtime import JAVA, JAVA_HOME

BACKEND = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
ARGUMENTS = {
    "--driver-url": "SPARK_DRIVER_URL",
    "--executor-id": "SPARK_EXECUTOR_ID",
    "--cores": "SPARK_EXECUTOR_CORES",
    "--app-id": "SPARK_APPLICATION_ID",
    "--hostname": "SPARK_EXECUTOR_POD_IP",
    "--resourceProfileId": "SPARK_RESOURCE_PROFILE_ID",
    "--podName": "SPARK_EXECUTOR_POD_NAME",
}
CONFIGURATION = "SPARK_CONF_DIR"
OPTION = re.compile(r"SPARK_JAVA_OPT_(\d+)")


def executor_command(environment: Mapping[str, str]) -> list[str]:
    """Java with the options and arguments that the variables tell. Raises KeyError for one that is not there."""
    import pyspark  # which `pts` need not wait for

    memory = environment["SPARK_EXECUTOR_MEMORY"]
    numbers = sorted(int(found[1]) for found in map(OPTION.fullmatch, environment) if found)
    options = [environment[f"SPARK_JAVA_OPT_{number}"] for number in numbers]
    arguments = [word for name, variable in ARGUMENTS.items() for word in (name, environment[variable])]
    spark = Path(pyspark.__file__).parent
    # In the order of Spark's own launcher, for which Java's cache was recorded; what comes after is no matter to that.
    classes = [f"{spark}/conf/", *map(str, spark.glob("jars/slf4j-api-*.jar")), f"{spark}/jars/*"]
    classes += [environment[CONFIGURATION]] if CONFIGURATION in environment else []
    # Spark reads a secret from a file only where it knows that this is Kubernetes, which executors learn too late.
    return [
        "java",
        "-Dspark.master=k8s://",
        *options,
        f"-Xms{memory}",
        f"-Xmx{memory}",
        "-cp",
        ":".join(classes),
        BACKEND,
        *arguments,
    ]


def main(arguments: list[str]) -> None:
    if arguments == ["executor"]:
        environment = os.environ | {"JAVA_HOME": str(JAVA_HOME)}
        os.execve(JAVA, executor_command(os.environ), environment)
    os.execv(sys.executable, [sys.executable, "-P", "-m", "pipelines.cli", *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
