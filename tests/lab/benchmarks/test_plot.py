"""The plots are drawn to scale and are well-formed."""

from xml.etree import ElementTree

import pytest

from lab.benchmarks.options import Options
from lab.benchmarks.plot import PLOT_WIDTH, Group, bar_chart, charts, line_chart, scale
from lab.benchmarks.results import new_results

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


def bar_widths(svg: str) -> list[float]:
    bars = ElementTree.fromstring(svg).iter(f"{SVG}rect")
    return [float(bar.attrib["width"]) for bar in bars if bar.attrib["height"] == "15"]


@pytest.mark.parametrize("greatest", [0.03, 0.9, 1, 6, 7, 61_000, 1_265_000])
def test_scale_is_round_and_reaches_the_greatest_value(greatest: float) -> None:
    ticks = scale(greatest)
    assert ticks[0] == 0
    assert ticks[-2] < greatest <= ticks[-1] * 1.000001
    assert 2 <= len(ticks) <= 7


def test_bars_are_as_long_as_their_values() -> None:
    whole, half = bar_widths(bar_chart("t", "axis", ("s",), [Group("a", (10.0,)), Group("b", (5.0,))]))
    assert (whole, half) == (PLOT_WIDTH, PLOT_WIDTH / 2)


def test_chart_names_everything_that_it_shows() -> None:
    svg = bar_chart("Speed & cost", "scans per second", ("warm", "cold"), [Group("a <b>", (1.0, None))])
    assert {"Speed & cost", "scans per second", "warm", "cold", "a <b>", "not measured"} <= set(texts(svg))


def test_line_goes_from_point_to_point_within_its_scales() -> None:
    svg = line_chart("Memory", "minutes", [(0, 0), (5, 10), (10, 5)])
    (line,) = ElementTree.fromstring(svg).iter(f"{SVG}polyline")
    (x0, y0), (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in line.attrib["points"].split())
    assert x1 - x0 == x2 - x1 > 0
    assert y0 - y1 == 2 * (y0 - y2) > 0
    assert {"Memory", "minutes", "0", "10"} <= set(texts(svg))


def test_nothing_measured_is_no_plot() -> None:
    assert charts(new_results(Options())) == {}
