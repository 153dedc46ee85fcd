"""The site of `make site`: whole, in order, and read without a network."""

import hashlib
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

pytestmark = pytest.mark.slow

DOCS = ROOT / "docs"
LOADED = {"src", "data", "poster", "srcset"}
"""Attributes whose address a browser fetches by itself; of a `link`, it is `href`."""

MOST_WORDS = 1_400


class Addresses(HTMLParser):
    """Addresses that a page fetches when it is opened."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = LOADED | ({"href"} if tag in ("link", "image", "use") else set())
        self.found += [value for name, value in attrs if name in names and value]


def loaded(page: str) -> list[str]:
    parser = Addresses()
    parser.feed(page)
    return parser.found


@pytest.fixture(scope="module")
def site() -> Path:
    """Built again; a broken link or anchor ends that with an error."""
    done = subprocess.run(["make", "site"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / "var" / "site"


def test_pages_load_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > len(list(DOCS.glob("*.md")))
    for page in pages:
        addresses = loaded(page.read_text(encoding="utf-8"))
        assert addresses, f"{page} loads nothing at all"
        assert not [each for each in addresses if re.match(r"(?:[a-z]+:)?//", each)], page
        for address in addresses:
            path = address.partition("?")[0].partition("#")[0]
            if not address.startswith("data:") and page.name != "404.html":
                assert (page.parent / path).exists(), f"{page} loads {address}"


def test_styles_load_nothing_from_elsewhere(site: Path) -> None:
    styles = sorted(site.rglob("*.css"))
    assert styles
    for style in styles:
        assert not re.search(r"""(?:url\(|@import)\s*["']?(?:https?:)?//""", style.read_text(encoding="utf-8")), style


def test_pages_with_diagrams_and_search_have_their_scripts_beside_them(site: Path) -> None:
    page = (site / "architecture.html").read_text(encoding="utf-8")
    assert '<pre class="mermaid">' in page
    assert {"./assets/mermaid.tiny.js", "./assets/iframe-worker.js"} <= set(loaded(page))
    assert (site / "search.js").is_file()


def test_address_of_another_host_is_found() -> None:
    assert loaded('<link href="//x.org/a.css"><script src="https://x.org/a.js"></script><a href="https://x.org">') == [
        "//x.org/a.css",
        "https://x.org/a.js",
    ]


def test_broken_anchor_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# A page\n\n[Nowhere](#nowhere)\n")
    (tmp_path / "mkdocs.yml").write_text("site_name: A site\n")
    command: list[str | Path] = [ROOT / ".venv" / "site" / "bin" / "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert "anchor" in done.stdout + done.stderr


def test_each_page_has_its_place_in_the_order_of_pages() -> None:
    named = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    there = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    decisions = {name for name in there if name.startswith("adr/") and name != "adr/index.md"}
    assert sorted(named) == sorted(there - decisions)


LINES = (DOCS / "assets" / "vendored.lock").read_text(encoding="utf-8").splitlines()
VENDORED = {line.split()[0]: line.split()[-1] for line in LINES if not line.startswith("#")}
"""File and checksum of each script of another project."""


@pytest.mark.parametrize(("file", "checksum"), VENDORED.items())
def test_script_of_another_project_is_as_it_was_published(file: str, checksum: str) -> None:
    assert hashlib.sha256((DOCS / "assets" / file).read_bytes()).hexdigest() == checksum
    assert (DOCS / "assets" / f"{file.partition('.')[0]}.LICENSE").is_file()


def test_every_script_of_another_project_is_named_with_its_checksum() -> None:
    assert set(VENDORED) == {path.name for path in (DOCS / "assets").glob("*.js")}


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) < MOST_WORDS


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_pages_that_another_page_beside_docs_links_are_there(name: str) -> None:
    linked = re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
    assert linked
    assert [path for path in linked if not (ROOT / path).exists()] == []
