"""A comparison as one HTML page that needs nothing else."""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from pipelines.replay.compared import Compared, Sample, TableCompared

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem; color: #222 }
table { border-collapse: collapse; margin: .5rem 0 1.5rem } th, td { border: 1px solid #ccc; padding: .25rem .6rem }
th { background: #f3f3f3; text-align: left } td.number { text-align: right; font-variant-numeric: tabular-nums }
code { font-size: 90% } .bad { color: #b00020; font-weight: 600 } .good { color: #0a6b2d; font-weight: 600 }
"""


def page(found: Compared) -> str:
    """Counts by table and column, then samples of the rows that differ."""
    verdict = "bad" if found.undeclared else "good"
    declared = escape(", ".join(found.declared) or "nothing")
    titles = ("table", "live rows", "shadow rows", "missing", "extra", "changed", "undeclared", "checksums")
    parts = [
        f"<h1>Replay {escape(found.replay_id)}, live and shadow at batch {found.fence}</h1>",
        f'<p class="{verdict}">{escape(found.verdict)}</p>',
        f"<p>Compared {found.compared_at:%Y-%m-%d %H:%M:%S} UTC. Declared: {declared}.</p>",
        _table(titles, map(_counts, found.tables)),
        "<p><i>Missing</i> rows only the shadow has, <i>extra</i> ones only live has.</p>",
        *(_section(each) for each in found.tables if each.differing),
    ]
    title = f"Replay {escape(found.replay_id)}"
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


def _counts(found: TableCompared) -> tuple[object, ...]:
    checksums = " / ".join(dict.fromkeys((found.live_checksum, found.shadow_checksum)))
    rows = found.table, found.live_rows, found.shadow_rows
    return *rows, found.missing, found.extra, found.changed, found.undeclared, checksums


def _section(found: TableCompared) -> str:
    columns = _table(("column", "changed rows"), found.columns.items()) if found.columns else ""
    samples = _table(("kind", "key", "live", "shadow"), map(_sample, found.samples))
    return f"<h2>{escape(found.table)}</h2>{columns}{samples}"


def _sample(sample: Sample) -> tuple[str, str, str, str]:
    return sample.kind, _values(sample.key), _values(sample.live), _values(sample.shadow)


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {'null' if value is None else value}" for name, value in values.items())


def _table(titles: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = "".join(f"<th>{escape(title)}</th>" for title in titles)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object) -> str:
    return f'<td class="number">{value:,}</td>' if isinstance(value, int) else f"<td>{escape(str(value))}</td>"
