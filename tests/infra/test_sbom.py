"""The bill of materials: what is installed, with hashes and licences."""

import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from infra import sbom
from infra.sbom import Told

pytestmark = pytest.mark.slow

POM = "<project xmlns='http://maven.apache.org/POM/4.0.0'><licenses><license><name>{}</name></license></licenses></project>"
NOBODY = Told()


@pytest.fixture(scope="module")
def bill() -> dict[str, Any]:
    """The bill of this very environment."""
    return sbom.bill_of_materials()


def jar(path: Path, **files: str) -> Path:
    with zipfile.ZipFile(path, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    return path


def of(group: str, name: str, version: str, licence: str = "") -> dict[str, str]:
    """The files by which a jar tells what it is."""
    folder = f"META-INF/maven/{group}/{name}"
    pom = {f"{folder}/pom.xml": POM.format(licence)} if licence else {}
    return {f"{folder}/pom.properties": f"#made\nversion={version}\n", **pom}


def test_every_part_that_is_installed_has_a_licence_and_a_hash(bill: dict[str, Any]) -> None:
    assert sbom.faults(bill) == []
    purls = {part["purl"].partition("@")[0] for part in bill["components"]}
    for name in (
        "pypi/pyspark",
        "pypi/cyclonedx-bom",
        "maven/io.delta/delta-storage",
        "generic/openjdk",
        "npm/htmx.org",
    ):
        assert f"pkg:{name}" in purls
    hashes = {each["content"] for part in bill["components"] for each in part.get("hashes", [])}
    assert set(locked_hashes()) <= hashes, "a jar of jars.lock is in the bill, with the hash that it has there"
    assert len(sbom.jars(Path(sys.prefix))) > 300


def locked_hashes() -> list[str]:
    lines = (sbom.HERE / "jars.lock").read_text().splitlines()
    return [line.split()[2] for line in lines if line and not line.startswith("#")]


def test_table_tells_of_nothing_that_is_not_installed(bill: dict[str, Any]) -> None:
    purls = {part["purl"].partition("@")[0] for part in bill["components"]}
    told = Told.by()
    assert [purl for purl in told.licences if purl not in purls] == []
    assert [name for name, group in told.groups.items() if f"pkg:maven/{group}/{name}" not in purls] == []


def test_table_tells_no_licence_of_a_jar_that_tells_its_own() -> None:
    """Its own is the one that counts, and the table might say another."""
    told, locked = Told(Told.by().groups), sbom.locked_jars()
    parts = [sbom.jar_part(path, told, locked) for path in sbom.jars(Path(sys.prefix))]
    silent = {part.purl.partition("@")[0] for part in parts if not part.licences}
    assert {purl for purl in Told.by().licences if purl.startswith("pkg:maven/")} == silent


@pytest.mark.long
def test_bill_fits_the_schema_of_cyclonedx(bill: dict[str, Any]) -> None:
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    assert validator.validate_str(json.dumps(bill)) is None
    bill["components"][0]["licenses"] = "MIT"
    assert validator.validate_str(json.dumps(bill)) is not None


def test_parts_of_a_jar_fit_the_schema_of_cyclonedx(bill: dict[str, Any], tmp_path: Path) -> None:
    files = of("org.own", "own", "1.0", "MIT") | of("org.other", "other", "2.0")
    part = sbom.jar_part(jar(tmp_path / "own-1.0.jar", **files), NOBODY, {}).component()
    python = next(each for each in bill["components"] if each["name"] == "pyspark")
    few = bill | {"components": [part, python, sbom.java_runtime().component()], "dependencies": []}
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(few)) is None
    assert [within["purl"] for within in part["components"]] == ["pkg:maven/org.other/other@2.0"]


@pytest.mark.parametrize(
    ("name", "files", "purl", "licences"),
    [
        ("own-1.0.jar", of("org.own", "own", "1.0", "MIT"), "pkg:maven/org.own/own@1.0", ("MIT",)),
        (
            "own-1.0-linux.jar",
            {**of("org.own", "own", "1.0"), "META-INF/MANIFEST.MF": "Bundle-License: Apa\r\n che;link=x, BSD\r\n"},
            "pkg:maven/org.own/own@1.0?classifier=linux",
            ("Apache", "BSD"),
        ),
        (
            "told-2.1.jar",
            {"META-INF/MANIFEST.MF": 'Licenses: BSD-3-Clause (BSD 3-Clause "New")\n', "LICENSE": "Apache License"},
            "pkg:maven/org.told/told@2.1",
            ("BSD-3-Clause",),
        ),
        (
            "told-2.1.jar",
            {"META-INF/LICENSE.txt": "\n  Apache License\n   Version 2.0, January 2004\n"},
            "pkg:maven/org.told/told@2.1",
            ("Apache-2.0",),
        ),
        ("told-2.1.jar", {"LICENSE": "Do what you like"}, "pkg:maven/org.told/told@2.1", ("Told",)),
        ("org.locked.locked-3.jar", {}, "pkg:maven/org.locked/locked@3", ()),
    ],
)
def test_what_a_jar_is(name: str, files: dict[str, str], purl: str, licences: tuple[str, ...], tmp_path: Path) -> None:
    told = Told({"told": "org.told"}, {"pkg:maven/org.told/told": "Told"})
    locked = {"org.locked.locked-3.jar": "pkg:maven/org.locked/locked@3"}
    found = sbom.jar_part(jar(tmp_path / name, **files), told, locked)
    assert (found.purl, found.licences) == (purl, licences)


def test_new_jar_without_a_licence_or_coordinates_fails(tmp_path: Path) -> None:
    part = sbom.jar_part(jar(tmp_path / "own-1.0.jar", **of("org.own", "own", "1.0")), NOBODY, {})
    assert sbom.faults({"components": [part.component()]}) == [
        "pkg:maven/org.own/own@1.0 names no licence: look it up, and write it into infra/parts.toml"
    ]
    with pytest.raises(
        ValueError, match=r"new-1\.0\.jar does not tell its Maven coordinates: name its group in infra/"
    ):
        sbom.jar_part(jar(tmp_path / "new-1.0.jar"), NOBODY, {})


def test_python_package_that_is_not_in_the_lock_fails() -> None:
    stranger = {"purl": "pkg:pypi/stranger@1", "licenses": [{"license": {"name": "MIT"}}], "externalReferences": []}
    assert sbom.faults({"components": [stranger]}) == [
        "pkg:pypi/stranger@1 has no hash: it is not in requirements.lock"
    ]
