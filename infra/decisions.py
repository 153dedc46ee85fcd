"""The page docs/adr/index.md: every decision's title, derived from the pages.

python infra/decisions.py > docs/adr/index.md
"""

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "adr"

INTRODUCTION = """\
# Decisions

Generated from the pages of this folder by `make docs`; a test compares the two. Each decision that someone could undo
by accident has a page: context, decision, consequences, what was measured.
"""


def decisions_page() -> str:
    """The whole page in Markdown."""
    pages = sorted(path for path in FOLDER.glob("*.md") if path.name != "index.md")
    titles = [(path, path.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")) for path in pages]
    lines = [f"- [ADR {title.partition('. ')[0]}]({path.name}): {title.partition('. ')[2]}" for path, title in titles]
    return "\n".join([INTRODUCTION, *lines]) + "\n"


if __name__ == "__main__":
    print(decisions_page(), end="")
