"""What the documentation tells its readers to run, and who runs it here.

A fenced `sh` block is run as it stands. Without a remark before it, `test_commands.py` runs each of its lines on a
small lake; with `<!-- run by tests/…::test_… -->` the test that is named does, which takes the block from the page by
the fixture `documented`.
"""

import re
import shlex
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

RUN = ("README.md", "docs/index.md", "docs/tutorial.md", "docs/kafka.md", "docs/how-to/*.md")
"""Pages of which every command is run."""

READ = ("README.md", "CONTRIBUTING.md", "docs/*.md", "docs/*/*.md")
"""Pages of which every command is one that there is."""

NOT_RUN = ("docs/adr/", "docs/reference/", "docs/mutations.md", "docs/expectations.md", "docs/tables.md")
"""Decisions tell of their time; the others are derived from the code."""

BLOCK = re.compile(
    r"^ *(?:<!-- run by (?P<test>\S+) -->\n *)?```(?P<language>\S*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL
)
REMARK = re.compile(r"<!-- run by .*-->")
INLINE = re.compile(r"(?<!`)`((?:\.venv/bin/)?pts [^`]+|make [^`]+)`(?!`)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: str
    line: int
    language: str
    text: str
    test: str | None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    def commands(self) -> list[str]:
        """Its commands one by one, each as it stands, whether on one line or on more; remarks are left out."""
        found: list[str] = []
        pending = ""
        for line in self.text.splitlines(keepends=True):
            pending += line
            try:
                words = shlex.split(pending, comments=True)
            except ValueError:  # a quotation goes on
                continue
            if not pending.rstrip().endswith("\\"):
                found += [pending.strip()] if words else []
                pending = ""
        assert not pending.strip(), f"{self}: a command has no end"
        return found


def pages(patterns: tuple[str, ...]) -> list[Path]:
    return sorted({path for pattern in patterns for path in ROOT.glob(pattern)})


def blocks(path: Path) -> list[Block]:
    text = path.read_text(encoding="utf-8")
    name = str(path.relative_to(ROOT))
    assert not REMARK.search(BLOCK.sub("", text)), f"{name}: a remark has no block"
    return [
        Block(
            name,
            text.count("\n", 0, match.start("text")) + 1,
            match["language"],
            textwrap.dedent(match["text"]),
            match["test"],
        )
        for match in BLOCK.finditer(text)
    ]


def run_blocks() -> list[Block]:
    """All `sh` and `python` blocks that a reader is told to run."""
    return [each for path in pages(RUN) for each in blocks(path) if each.language in ("sh", "python")]


def inline_commands(path: Path) -> list[str]:
    """What a page calls a command within its sentences."""
    prose = BLOCK.sub("", path.read_text(encoding="utf-8"))
    return [" ".join(found.split()) for found in INLINE.findall(prose)]
