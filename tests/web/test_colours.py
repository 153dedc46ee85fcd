"""Colours of all pages, in light and dark."""

import re
from pathlib import Path

import pytest

from pipelines.api import page
from pipelines.board import app

STYLES = (page.FOLDER / "static" / "track.css", app.FOLDER / "static" / "board.css")


@pytest.mark.parametrize("file", STYLES, ids=lambda file: file.stem)
def test_colours_can_be_told_apart_in_light_and_dark(file: Path) -> None:
    """WCAG 2.2 AA: 4.5 between text and ground, 3 for the edges of fields (1.4.3, 1.4.11)."""
    style = file.read_text(encoding="utf-8")
    schemes = re.findall(r":root \{([^}]*)\}", style)
    assert len(schemes) == 2
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): (#\w{6})", scheme))
        ground = luminance(colours["ground"])
        for name in ("text", "quiet", "accent", "warn", "line"):
            lighter, darker = sorted((luminance(colours[name]), ground), reverse=True)
            assert (lighter + 0.05) / (darker + 0.05) >= (3 if name == "line" else 4.5), name
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b", re.sub(r":root \{[^}]*\}", "", style)) == [], (
        "a colour that only one scheme has"
    )


def luminance(colour: str) -> float:
    """Relative, as WCAG defines it."""
    parts = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
