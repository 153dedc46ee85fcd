"""What was measured is what is drawn."""

import re
from xml.etree import ElementTree

import pytest

from lab.benchmarks.options import Options
from lab.benchmarks.plot import bar_chart, charts, line_chart
from lab.benchmarks.results import new_results

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> set[str]:
    return {element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")}


def bar_widths(svg: str) -> list[float]:
    """Of the bars, in their order: a bar is told from a frame by its description."""
    found = ElementTree.fromstring(svg).iter(f"{SVG}path")
    bars = [path.attrib["d"] for path in found if path.attrib.get("aria-roledescription") == "bar"]
    return [float(match[1]) for bar in bars if (match := re.match(r"M0,[\d.]+h([\d.]+)v", bar))]


def test_bars_are_as_long_as_their_values() -> None:
    whole, half = bar_widths(bar_chart("t", "axis", ("s",), {"a": [10.0], "b": [5.0]}))
    assert whole == pytest.approx(2 * half)
    assert half > 100


def test_chart_names_everything_that_it_shows() -> None:
    svg = bar_chart("Speed & cost", "scans per second", ("warm", "cold"), {"a <b>": [1.5, None], "us": [123_456.0, 2]})
    names = {"Speed & cost", "scans per second", "warm", "cold", "a <b>", "us", "1.5", "123,456", "2", "not measured"}
    assert names <= texts(svg)


def test_line_goes_from_point_to_point_within_its_scales() -> None:
    svg = line_chart("Memory", "minutes", [(0, 0), (5, 10), (10, 5)])
    (line,) = (
        path.attrib["d"]
        for path in ElementTree.fromstring(svg).iter(f"{SVG}path")
        if path.attrib.get("aria-roledescription") == "line mark"
    )
    (x0, y0), (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in re.split("[ML]", line)[1:])
    assert x1 - x0 == x2 - x1 > 0
    assert y0 - y1 == 2 * (y0 - y2) > 0
    assert {"Memory", "minutes", "0", "10"} <= texts(svg)


def test_nothing_measured_is_no_plot() -> None:
    assert charts(new_results(Options())) == {}
