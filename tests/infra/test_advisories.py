"""The gate of known vulnerabilities, with a source of advisories that stands in for OSV."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from infra import advisories
from infra.advisories import Exemption, exemptions, faults, judged

pytestmark = pytest.mark.slow

TODAY = date(2026, 3, 1)
JAR, INNER, PYTHON = "pkg:maven/org.own/own@1.0", "pkg:maven/org.other/other@2.0", "pkg:pypi/Zope.Own@1.2"
BILL = {"components": [{"purl": f"{JAR}?classifier=linux", "components": [{"purl": INNER}]}, {"purl": PYTHON}]}
LOCK = f"zope-own==1.2 --hash=sha256:{'0' * 64}\n"


@dataclass
class Source:
    """What OSV would answer: ids by purl, and by name of a Python package."""

    known: dict[str, list[str]] = field(default_factory=dict)
    a_page: int = 100
    code: int = 200
    leaves_out: int = 0
    url: str = ""

    def batch(self, queries: list[dict[str, Any]]) -> dict[str, Any]:
        return {"results": [self._page(query) for query in queries[self.leaves_out :]]}

    def _page(self, query: dict[str, Any]) -> dict[str, Any]:
        ids, start = self.known.get(query["package"]["purl"], []), int(query.get("page_token", 0))
        page = {"vulns": [{"id": each} for each in ids[start : start + self.a_page]]} if ids else {}
        return page | ({"next_page_token": str(start + self.a_page)} if len(ids) > start + self.a_page else {})

    def one(self, query: dict[str, Any]) -> dict[str, Any]:
        ids = self.known.get(query["package"]["name"], [])
        package = {"name": query["package"]["name"], "ecosystem": "PyPI"}
        told = [{"id": each, "aliases": [f"CVE-{each}"], "affected": [{"package": package}]} for each in ids]
        return {"vulns": told} if told else {}


@contextmanager
def listening(source: Source) -> Iterator[Source]:
    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = source.batch(asked["queries"]) if self.path == "/v1/querybatch" else source.one(asked)
            self.send_response(source.code)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever).start()
        source.url = f"http://127.0.0.1:{server.server_port}"
        try:
            yield source
        finally:
            server.shutdown()


@pytest.fixture(autouse=True)
def _small_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "requirements.lock").write_text(LOCK)
    monkeypatch.setattr(advisories, "LOCK", tmp_path / "requirements.lock")


def told(source: Source, *let_pass: Exemption) -> list[str]:
    return faults(judged(BILL, source.url), let_pass, TODAY)


def exemption(package: str, advisory: str, until: date = TODAY) -> Exemption:
    return Exemption(package, advisory, "not reached", until)


def test_nothing_known_of_anything_passes() -> None:
    with listening(Source()) as source:
        assert told(source) == []


def test_what_is_known_of_packages_jars_and_libraries_within_jars_fails_on_whatever_page_it_is() -> None:
    known = {JAR: ["GHSA-1", "GHSA-2", "GHSA-3"], INNER: ["GHSA-4"], "zope-own": ["PYSEC-5"]}
    with listening(Source(known, a_page=1)) as source:
        assert sorted(told(source)) == [
            f"{INNER}: GHSA-4",
            *(f"{JAR}: GHSA-{number}" for number in (1, 2, 3)),
            f"{PYTHON}: CVE-PYSEC-5, PYSEC-5",
        ]


def test_exemption_lets_one_advisory_of_one_package_pass_until_its_day() -> None:
    with listening(Source({JAR: ["GHSA-1", "GHSA-2"], "zope-own": ["PYSEC-5"]})) as source:
        own, python = "pkg:maven/org.own/own", "pkg:pypi/Zope.Own"
        exempt = [exemption(own, "GHSA-1"), exemption(own, "GHSA-2"), exemption(python, "CVE-PYSEC-5")]
        assert told(source, *exempt) == []
        assert told(source, *exempt[1:]) == [f"{JAR}: GHSA-1"]
        assert told(source, exempt[0], exemption("pkg:maven/org.own/owner", "GHSA-2"), exempt[2]) == [f"{JAR}: GHSA-2"]
        ended = exemption("pkg:maven/org.gone/gone", "GHSA-9", date(2026, 2, 28))
        assert told(source, *exempt, ended) == [
            "The exemption of pkg:maven/org.gone/gone from GHSA-9 ended on 2026-02-28: not reached"
        ]


def test_without_a_network_everything_is_named_as_unchecked() -> None:
    with listening(Source()) as source:
        pass
    found = told(source)
    assert len(found) == 3
    assert [fault.partition(" (")[0] for fault in found] == [f"{purl}: unchecked" for purl in (PYTHON, INNER, JAR)]
    assert all("efused" in fault for fault in found)


@pytest.mark.parametrize("source", [Source(code=500), Source(leaves_out=1)], ids=["an error", "an answer too few"])
def test_source_that_does_not_answer_for_all_leaves_them_unchecked(source: Source) -> None:
    with listening(source):
        assert {f"{purl}: unchecked" for purl in (JAR, INNER)} <= {fault.partition(" (")[0] for fault in told(source)}


def test_python_package_that_the_lock_lacks_is_unchecked(tmp_path: Path) -> None:
    (tmp_path / "requirements.lock").write_text(LOCK.replace("zope-own", "another"))
    with listening(Source()) as source:
        assert told(source) == [f"{PYTHON}: unchecked (pip-audit does not tell of it)"]


def test_what_no_source_knows_of_is_unchecked_unless_it_is_exempt() -> None:
    runtime = {"components": [{"purl": "pkg:generic/openjdk@25"}]}
    with listening(Source()) as source:
        findings = judged(runtime, source.url)
    assert faults(findings, [], TODAY) == ["pkg:generic/openjdk@25: unchecked (no source knows of such)"]
    assert faults(findings, [exemption("pkg:generic/openjdk", "unchecked")], TODAY) == []


def test_gate_ends_with_a_code_and_says_what_it_looked_at(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(advisories, "bill_of_materials", lambda: BILL)
    (tmp_path / "none.toml").touch()
    with listening(Source()) as source:
        arguments = ["--source", source.url, "--exemptions", str(tmp_path / "none.toml")]
        assert advisories.main(arguments) == 0
        assert capsys.readouterr().out == "advisories: of 3 packages, none has one.\n"
        source.known[JAR] = ["GHSA-1"]
        assert advisories.main(arguments) == 1
        assert f"{JAR}: GHSA-1" in capsys.readouterr().out


def test_exemptions_that_are_there_have_a_reason_and_an_end() -> None:
    for each in exemptions():
        assert len(each.reason) > 20
        assert each.until.year < 2030
