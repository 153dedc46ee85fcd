"""Bar and line charts as SVG, without a plotting library."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from math import floor, log10

from lab.benchmarks.results import Results, measure
from lab.benchmarks.tables import TITLES, per_second

LEFT, PLOT_WIDTH, RIGHT, TOP = 250, 470, 90, 64
BAR, GAP, AXIS = 18, 14, 56
LINE_LEFT, LINE_HEIGHT = 70, 180
COLOURS = ("#1f5a94", "#e08a2c", "#7a7a7a")


@dataclass(frozen=True)
class Group:
    """Bars that stand together under one label: a value for each series, None where there is none."""

    label: str
    values: tuple[float | None, ...]


def bar_chart(title: str, axis: str, series: Sequence[str], groups: Sequence[Group]) -> str:
    """Horizontal bars with their values, a scale from 0, and a legend. Returns the text of an SVG file."""
    greatest = max((value for group in groups for value in group.values if value is not None), default=1.0)
    ticks = scale(greatest)
    height_of_group = BAR * len(series) + GAP
    bottom = TOP + height_of_group * len(groups)

    def x(value: float) -> float:
        return LEFT + PLOT_WIDTH * value / ticks[-1]

    parts = [_text(LEFT, 24, title, size=16, weight="bold")]
    place = LEFT
    for name, colour in zip(series, COLOURS, strict=False):
        parts += [f'<rect x="{place}" y="38" width="11" height="11" fill="{colour}"/>', _text(place + 16, 48, name)]
        place += 40 + 7 * len(name)
    for tick in ticks:
        parts.append(f'<line x1="{x(tick):.1f}" y1="{TOP}" x2="{x(tick):.1f}" y2="{bottom}" stroke="#dddddd"/>')
        parts.append(_text(x(tick), bottom + 18, _short(tick), anchor="middle"))
    parts.append(_text(LEFT + PLOT_WIDTH / 2, bottom + 40, axis, anchor="middle"))
    for row, group in enumerate(groups):
        top = TOP + row * height_of_group + GAP / 2
        parts.append(_text(LEFT - 10, top + BAR * len(series) / 2 + 4, group.label, anchor="end"))
        for place_, (value, colour) in enumerate(zip(group.values, COLOURS, strict=False)):
            y = top + place_ * BAR
            if value is None:
                parts.append(_text(LEFT + 5, y + 13, "not measured", colour="#999999"))
                continue
            width = x(value) - LEFT
            parts.append(f'<rect x="{LEFT}" y="{y:.1f}" width="{width:.1f}" height="{BAR - 3}" fill="{colour}"/>')
            parts.append(_text(LEFT + width + 5, y + 12, _short(value)))
    parts.append(f'<line x1="{LEFT}" y1="{TOP}" x2="{LEFT}" y2="{bottom}" stroke="#333333"/>')
    return _svg(LEFT + PLOT_WIDTH + RIGHT, bottom + AXIS, parts)


def line_chart(title: str, axis: str, points: Sequence[tuple[float, float]]) -> str:
    """One line over a scale from 0 on both axes; `axis` names the lower one. Returns the text of an SVG file."""
    across, up = (scale(max((point[number] for point in points), default=1.0)) for number in (0, 1))
    bottom = TOP + LINE_HEIGHT

    def x(value: float) -> float:
        return LINE_LEFT + PLOT_WIDTH * value / across[-1]

    def y(value: float) -> float:
        return bottom - LINE_HEIGHT * value / up[-1]

    parts = [_text(LINE_LEFT, 24, title, size=16, weight="bold")]
    for tick in up:
        parts.append(
            f'<line x1="{LINE_LEFT}" y1="{y(tick):.1f}" x2="{x(across[-1])}" y2="{y(tick):.1f}" stroke="#ddd"/>'
        )
        parts.append(_text(LINE_LEFT - 8, y(tick) + 4, _short(tick), anchor="end"))
    parts += [_text(x(tick), bottom + 18, _short(tick), anchor="middle") for tick in across]
    parts.append(_text(LINE_LEFT + PLOT_WIDTH / 2, bottom + 40, axis, anchor="middle"))
    line = " ".join(f"{x(each):.1f},{y(value):.1f}" for each, value in points)
    parts.append(f'<polyline points="{line}" fill="none" stroke="{COLOURS[0]}" stroke-width="1.5"/>')
    return _svg(LINE_LEFT + PLOT_WIDTH + RIGHT, bottom + AXIS, parts)


def _svg(width: int, height: int, parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'font-family="sans-serif">\n<rect width="100%" height="100%" fill="white"/>\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def scale(greatest: float) -> list[float]:
    """Round numbers from 0 to at least the greatest value, at most seven of them."""
    if greatest <= 0:
        return [0.0, 1.0]
    magnitude = 10.0 ** floor(log10(greatest))
    step = next(part * magnitude for part in (0.2, 0.5, 1.0, 2.0) if greatest <= 6 * part * magnitude)
    count = next(n for n in range(1, 7) if n * step >= greatest * (1 - 1e-9))
    return [n * step for n in range(count + 1)]


def charts(results: Results) -> dict[str, str]:
    """The plots of what was measured, by the name of their file."""
    found = {}
    names = list(dict.fromkeys([*results.contenders("drain-warm"), *results.contenders("drain-cold")]))
    if names:
        groups = [
            Group(
                TITLES[name].replace("*", ""),
                tuple(per_second(results, results.of(part, name)) for part in ("drain-warm", "drain-cold")),
            )
            for name in names
        ]
        found["drain"] = bar_chart(
            "Drain of the whole log: more is better",
            "scans per second, median of the rounds",
            ("warm process", "cold, from process start to its end"),
            groups,
        )
    if delays := _delay_groups(results):
        found["freshness"] = bar_chart(
            "Freshness under a steady feed: less is better", "seconds from append", ("p50", "p95", "p99"), delays
        )
    if sizes := dict.fromkeys((run["packages"], run["scans"]) for run in results.of("growth", "ours")):
        groups = [
            Group(
                f"{_count(packages)} packages, {_count(scans)} scans",
                (measure(results.of("growth", "ours", packages=packages, scans=scans), "batch_seconds"),),
            )
            for packages, scans in sizes
        ]
        found["growth"] = bar_chart(
            "The same feed on larger and larger lakes: less is better", "seconds per batch", ("median",), groups
        )
    return found


def _delay_groups(results: Results) -> list[Group]:
    groups = []
    for rate in sorted({run["rate"] for run in results.of("freshness")}):
        for name in results.contenders("freshness"):
            for of, label in (("gold", "table"), ("topic", "message")):
                runs = results.of("freshness", name, rate=rate)
                values = tuple(measure(runs, f"{of}.{part}_seconds") for part in ("p50", "p95", "p99"))
                if values[0] is not None:
                    groups.append(Group(f"{name}, {rate:,} scans/s, {label}", values))
    return groups


def _count(number: int) -> str:
    return f"{number // 1_000_000} M" if number >= 1_000_000 else f"{number // 1_000} k"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _text(
    x: float,
    y: float,
    text: str,
    anchor: str = "start",
    size: int = 12,
    weight: str = "normal",
    colour: str = "#222222",
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
        f'fill="{colour}">{escape(text)}</text>'
    )
