"""Plots of what was measured, as SVG."""

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO

import altair as alt

from lab.benchmarks.results import Results, measure
from lab.benchmarks.tables import TITLES, per_second

COLOURS = ("#1f5a94", "#e08a2c", "#7a7a7a")
WIDTH, LINE_HEIGHT = 470, 180

Bars = Mapping[str, Sequence[float | None]]
"""By label, a value for each series; None where it was not measured."""


def bar_chart(title: str, axis: str, series: Sequence[str], bars: Bars) -> str:
    """Horizontal bars with their values, together under their label. Returns the text of an SVG file."""
    rows = [
        {
            "label": label,
            "series": name,
            "value": value or 0,
            "text": "not measured" if value is None else _short(value),
        }
        for label, values in bars.items()
        for name, value in zip(series, values, strict=True)
    ]
    base = alt.Chart(alt.InlineData(values=rows), title=title).encode(
        x=alt.X("value:Q", title=axis),
        y=alt.Y("label:N", title=None, sort=list(bars), axis=alt.Axis(labelLimit=300)),
        yOffset=alt.YOffset("series:N", sort=list(series)),
    )
    colours = alt.Color("series:N", title=None, sort=list(series), scale=alt.Scale(range=COLOURS))
    return _svg(base.mark_bar().encode(color=colours) + base.mark_text(align="left", dx=4).encode(text="text:N"))


def line_chart(title: str, axis: str, points: Iterable[tuple[float, float]]) -> str:
    """One line over a scale from 0 on both axes; `axis` names the lower one. Returns the text of an SVG file."""
    rows = [{"x": x, "y": y} for x, y in points]
    line = alt.Chart(alt.InlineData(values=rows), title=title, height=LINE_HEIGHT).mark_line(color=COLOURS[0])
    return _svg(line.encode(x=alt.X("x:Q", title=axis), y=alt.Y("y:Q", title=None, scale=alt.Scale(zero=True))))


def _svg(chart: alt.Chart | alt.LayerChart) -> str:
    text = StringIO()
    chart.properties(width=WIDTH).save(text, format="svg")
    return text.getvalue()


def charts(results: Results) -> dict[str, str]:
    """The plots of what was measured, by the name of their file."""
    found = {}
    names = list(dict.fromkeys([*results.contenders("drain-warm"), *results.contenders("drain-cold")]))
    if names:
        found["drain"] = bar_chart(
            "Drain of the whole log: more is better",
            "scans per second, median of the rounds",
            ("warm process", "cold, from process start to its end"),
            {
                TITLES[name].replace("*", ""): [
                    per_second(results, results.of(part, name)) for part in ("drain-warm", "drain-cold")
                ]
                for name in names
            },
        )
    if delays := _delays(results):
        found["freshness"] = bar_chart(
            "Freshness under a steady feed: less is better", "seconds from append", ("p50", "p95", "p99"), delays
        )
    if sizes := dict.fromkeys((run["packages"], run["scans"]) for run in results.of("growth", "ours")):
        found["growth"] = bar_chart(
            "The same feed on larger and larger lakes: less is better",
            "seconds per batch",
            ("median",),
            {
                f"{_count(packages)} packages, {_count(scans)} scans": [
                    measure(results.of("growth", "ours", packages=packages, scans=scans), "batch_seconds")
                ]
                for packages, scans in sizes
            },
        )
    return found


def _delays(results: Results) -> Bars:
    bars = {}
    for rate in sorted({run["rate"] for run in results.of("freshness")}):
        for name in results.contenders("freshness"):
            for of, label in (("gold", "table"), ("topic", "message")):
                runs = results.of("freshness", name, rate=rate)
                values = [measure(runs, f"{of}.{part}_seconds") for part in ("p50", "p95", "p99")]
                if values[0] is not None:
                    bars[f"{name}, {rate:,} scans/s, {label}"] = values
    return bars


def _count(number: int) -> str:
    return f"{number // 1_000_000} M" if number >= 1_000_000 else f"{number // 1_000} k"


def _short(value: float | None) -> str:
    if value is None:
        return "not measured"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
