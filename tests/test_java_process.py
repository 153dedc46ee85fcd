"""What is told of a Java that ended."""

import signal
from pathlib import Path

import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from pipelines import java_process
from pipelines.errors import log_text
from pipelines.java_process import MEMORY_CURE

LOGIN = """Exception in thread "main" org.apache.hadoop.security.KerberosAuthException: failure to login
\tat org.apache.hadoop.security.UserGroupInformation.doSubjectLogin(UserGroupInformation.java:2075)
Caused by: \x1b[31mjavax.security.auth.login.LoginException: invalid null input: name\x1b[0m
\t... 23 more
"""
HEAP = "Terminating due to java.lang.OutOfMemoryError: Java heap space\n"
NATIVE = """OpenJDK 64-Bit Server VM warning: INFO: os::commit_memory(0x1, 2, 0) failed; error='Not enough space'
# There is insufficient memory for the Java Runtime Environment to continue.
"""


WITH_CODE = "ended by itself, with code {}, during x"
OUT = "Terminating due to java.lang.OutOfMemoryError: Java heap space"


@pytest.mark.parametrize(
    ("code", "said", "told"),
    [
        (
            1,
            LOGIN,
            f"{WITH_CODE.format(1)}: javax.security.auth.login.LoginException: invalid null input: name. Nothing is",
        ),
        (3, HEAP, f"{WITH_CODE.format(3)}: {OUT}. Nothing is lost. {MEMORY_CURE}"),
        (1, NATIVE, MEMORY_CURE),
        (-signal.SIGKILL, "", "was killed during x. Nothing is lost. By somebody, or by the system"),
        (-signal.SIGTERM, "2026-01-01 WARN all is well\n", f"{WITH_CODE.format(-15)}. Nothing is lost."),
        (None, "", "ended by itself during x. Nothing is lost."),
    ],
)
def test_it_is_told_what_java_said_and_memory_only_where_memory_it_was(
    code: int | None, said: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(java_process, "exit_code", lambda: code)
    monkeypatch.setattr(java_process, "_listener", None)
    monkeypatch.setattr(java_process, "_said", [log_text(line) for line in said.splitlines()])

    sentence = str(java_process.ended("during x"))

    assert sentence.startswith("Spark's Java ")
    assert told in sentence
    assert (MEMORY_CURE in sentence) == (MEMORY_CURE in told)
    assert "\x1b" not in sentence


@pytest.mark.skipif(not Path("/proc").exists(), reason="the arguments of a process are looked up in /proc")
def test_properties_are_no_arguments_that_everybody_could_read(spark: SparkSession) -> None:
    assert SparkContext._gateway
    arguments = Path(f"/proc/{SparkContext._gateway.proc.pid}/cmdline").read_text().split("\0")
    assert "--conf" not in arguments
    assert not [argument for argument in arguments if "spark.sql" in argument or "fs.defaultFS" in argument]
    properties = Path(arguments[arguments.index("--properties-file") + 1])
    assert not properties.exists()
    assert spark.conf.get("spark.sql.session.timeZone") == "UTC"


def test_properties_are_read_by_java_as_they_are(spark: SparkSession) -> None:
    values = {"spark.a": ' C:\\it\'s = "x": #!\t\n\rnaïve ', "spark.b:c=d e": "", "spark.d": "\\u0041${HOME}"}
    assert spark._jvm
    found = spark._jvm.java.util.Properties()
    found.load(spark._jvm.java.io.StringReader(java_process.as_properties(values)))
    assert {name: found.getProperty(name) for name in values} == values
