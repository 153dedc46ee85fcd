"""Puts Flink under var/benchmarks/peers: its distribution, connectors, and the functions of `java/`, compiled.

Nothing of it belongs to the product. Versions and checksums are in `requirements.txt` and `jars.lock`; what is there
and was made from the same files stays.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from infra.setup import Jar, download, write_java_home
from lab.benchmarks.made_once import PEERS, digest_of, once
from pipelines.java_runtime import JAVA

HERE = Path(__file__).resolve().parent
FLINK = PEERS / "flink"
DISTRIBUTION, CLASSES = FLINK / "distribution", FLINK / "classes"
WHEEL_JARS = "pyflink/lib/"
JAVA_RELEASE = "17"
"""The oldest Java that Flink 2 runs on."""


@dataclass(frozen=True)
class PeerJar(Jar):
    """A jar of a peer, outside the product's runtime."""

    @property
    def path(self) -> Path:
        return FLINK / self.classpath / f"{self.organisation}.{self.name}-{self.version}.jar"


def set_up() -> None:
    """Downloads and compiles what is missing. Ends the process with a sentence when it cannot."""
    write_java_home()
    jars = list(locked_jars())
    if missing := [jar for jar in jars if not jar.is_in_place()]:
        sys.stderr.write(f"benchmarks: downloading {len(missing)} jars for Flink\n")
        download(list(missing))
    once(DISTRIBUTION, digest_of(HERE / "requirements.txt"), _download_distribution)
    sources = sorted((HERE / "java").glob("*.java"))
    once(CLASSES, digest_of(*sources, HERE / "requirements.txt"), lambda folder: _compile(sources, folder))


def version() -> str:
    """Flink's version."""
    pinned = next(line for line in (HERE / "requirements.txt").read_text().splitlines() if "==" in line)
    return pinned.partition("==")[2].split()[0]


def class_path() -> str:
    """Flink, its connectors and our functions, for `java -cp`."""
    return ":".join([str(CLASSES), str(HERE), f"{DISTRIBUTION}/*", f"{FLINK / 'lib'}/*"])


def locked_jars() -> list[PeerJar]:
    lines = (HERE / "jars.lock").read_text().splitlines()
    jars = []
    for classpath, coordinates, sha256 in (line.split() for line in lines if line and not line.startswith("#")):
        organisation, name, version = coordinates.split(":")
        jars.append(PeerJar(classpath, organisation, name, version, sha256))
    return jars


def _download_distribution(folder: Path) -> None:
    sys.stderr.write("benchmarks: downloading Flink's distribution (300 MB)\n")
    with tempfile.TemporaryDirectory(dir=FLINK) as scratch:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        options = ["--require-hashes", "--requirement", str(HERE / "requirements.txt"), "--dest", scratch]
        if subprocess.run([*command, *options], check=False).returncode:
            sys.exit("benchmarks: pip could not download Flink. Check that the Python package index can be reached.")
        with zipfile.ZipFile(next(Path(scratch).glob("*.whl"))) as wheel:
            for name in wheel.namelist():
                if name.startswith(WHEEL_JARS) and name.endswith(".jar"):
                    with wheel.open(name) as jar, (folder / Path(name).name).open("wb") as file:
                        shutil.copyfileobj(jar, file)


def _compile(sources: list[Path], folder: Path) -> None:
    """With Eclipse's compiler, because the product's Java is a runtime without one."""
    compiler = next(jar.path for jar in locked_jars() if jar.name == "ecj")
    options = ["-proc:none", "-nowarn", "-source", JAVA_RELEASE, "-target", JAVA_RELEASE]
    places = ["-classpath", ":".join(map(str, DISTRIBUTION.glob("*.jar"))), "-d", str(folder)]
    command = [str(JAVA), "-jar", str(compiler), *options, *places, *map(str, sources)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"benchmarks: the functions for Flink do not compile:\n{done.stdout}{done.stderr}")
