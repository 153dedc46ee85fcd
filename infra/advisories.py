"""Asks for known vulnerabilities of all that is in the bill of materials: `make advisories`.

It fails for what is vulnerable, for what could not be asked, and for an exemption of `advisories.toml` that has ended.
What has no answer is never taken for clean. Python packages are looked up by pip-audit, jars, and the libraries within
them, by their purls; both at OSV (https://osv.dev).
"""

import argparse
import json
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from infra.sbom import PROJECT, bill_of_materials, normal_name

SOURCE = "https://api.osv.dev"
EXEMPTIONS = PROJECT / "infra" / "advisories.toml"
LOCK = PROJECT / "requirements.lock"

MOST_QUERIES = 1_000
"""OSV's own limit of one request."""
TIMEOUT_SECONDS = 60.0
UNCHECKED = "unchecked"


@dataclass(frozen=True)
class Exemption:
    """What may pass until a day, and why. `package` is a purl without a version."""

    package: str
    advisory: str
    reason: str
    until: date


@dataclass(frozen=True)
class Finding:
    """An advisory of a package by all of its ids, or `unchecked`, with why there is no answer."""

    purl: str
    ids: frozenset[str]
    why: str = ""

    def __str__(self) -> str:
        return f"{self.purl}: {', '.join(sorted(self.ids))}" + (f" ({self.why})" if self.why else "")

    def is_let_pass(self, exemption: Exemption) -> bool:
        return exemption.package == self.purl.partition("@")[0] and exemption.advisory in self.ids


class NoAnswer(Exception):
    """The source of advisories did not answer, or not as it should."""


def exemptions(path: Path = EXEMPTIONS) -> list[Exemption]:
    """Raises `TypeError` for one that lacks a reason or an end."""
    return [Exemption(**each) for each in tomllib.loads(path.read_text(encoding="utf-8")).get("exemption", [])]


def purls(bill: Mapping[str, Any]) -> list[str]:
    """Of all parts, and of those within them, without qualifiers."""

    def within(part: Mapping[str, Any]) -> Iterator[str]:
        yield part["purl"].partition("?")[0]
        for each in part.get("components", []):
            yield from within(each)

    return sorted({purl for part in bill["components"] for purl in within(part)})


def of_python(asked: Iterable[str], source: str) -> list[Finding]:
    """What pip-audit says of the packages of the lock. One that it does not tell of is unchecked."""
    command = [sys.executable, "-P", "-m", "pip_audit", "--requirement", str(LOCK), "--require-hashes", "--disable-pip"]
    command += ["--strict", "--vulnerability-service", "osv", "--osv-url", f"{source}/v1/query", "--format", "json"]
    done = subprocess.run([*command, "--progress-spinner", "off"], capture_output=True, text=True, check=False)
    try:
        told = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        told, why = [], (done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
    else:
        why = "pip-audit does not tell of it"
    answers = {f"{normal_name(each['name'])}@{each['version']}": each["vulns"] for each in told if "vulns" in each}
    found = []
    for purl in asked:
        name, _, version = purl.removeprefix("pkg:pypi/").partition("@")
        vulnerabilities = answers.get(f"{normal_name(name)}@{version}")
        if vulnerabilities is None:
            found.append(Finding(purl, frozenset({UNCHECKED}), why))
        found += [Finding(purl, frozenset({each["id"], *each["aliases"]})) for each in vulnerabilities or []]
    return found


def of_purls(asked: list[str], source: str) -> list[Finding]:
    """What OSV says of Maven's and npm's packages. When it does not answer for all of them, those are unchecked."""
    found = []
    for start in range(0, len(asked), MOST_QUERIES):
        part = asked[start : start + MOST_QUERIES]
        try:
            found += [Finding(purl, frozenset({each})) for purl, ids in _osv(part, source) for each in ids]
        except NoAnswer as error:
            found += [Finding(purl, frozenset({UNCHECKED}), str(error)) for purl in part]
    return found


def _osv(asked: list[str], source: str) -> Iterator[tuple[str, list[str]]]:
    """Ids of advisories by purl; a purl comes again where there are many. Raises `NoAnswer`."""
    queries: list[tuple[str, dict[str, Any]]] = [(purl, {"package": {"purl": purl}}) for purl in asked]
    while queries:
        results = _post(f"{source}/v1/querybatch", {"queries": [query for _, query in queries]}).get("results")
        if not isinstance(results, list) or len(results) != len(queries):
            raise NoAnswer(f"{source} did not answer each query")
        following = []
        for (purl, query), result in zip(queries, results, strict=True):
            yield purl, [each["id"] for each in result.get("vulns", [])]
            if token := result.get("next_page_token"):
                following.append((purl, query | {"page_token": token}))
        queries = following


def _post(url: str, body: object) -> dict[str, Any]:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            found = json.load(answer)
    except (OSError, ValueError) as error:
        raise NoAnswer(f"{url}: {error}") from error
    if not isinstance(found, dict):
        raise NoAnswer(f"{url} did not answer with an object")
    return found


def judged(bill: Mapping[str, Any], source: str) -> list[Finding]:
    """All that is known of what is in the bill, and what could not be asked."""
    asked = purls(bill)
    python = [purl for purl in asked if purl.startswith("pkg:pypi/")]
    others = [purl for purl in asked if purl.startswith(("pkg:maven/", "pkg:npm/"))]
    unknown = [Finding(purl, frozenset({UNCHECKED}), "no source knows of such") for purl in asked]
    return [
        *of_python(python, source),
        *of_purls(others, source),
        *(finding for finding in unknown if finding.purl not in {*python, *others}),
    ]


def faults(findings: Iterable[Finding], let_pass: Iterable[Exemption], today: date) -> list[str]:
    """What makes the gate fail, a sentence each."""
    exempt = list(let_pass)
    told = [
        f"The exemption of {each.package} from {each.advisory} ended on {each.until}: {each.reason}"
        for each in exempt
        if each.until < today
    ]
    told += [str(finding) for finding in findings if not any(finding.is_let_pass(each) for each in exempt)]
    return told


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", default=SOURCE, help="Where OSV's API is.")
    parser.add_argument("--exemptions", type=Path, default=EXEMPTIONS)
    given = parser.parse_args(argv)
    bill = bill_of_materials()
    failures = faults(judged(bill, given.source), exemptions(given.exemptions), datetime.now(UTC).date())
    for each in failures:
        print(f"advisories: {each}")
    count = len(purls(bill))
    print(f"advisories: of {count:,} packages, " + (f"{len(failures):,} faults." if failures else "none has one."))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
