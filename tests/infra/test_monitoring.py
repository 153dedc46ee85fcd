"""Rules and dashboard ask for what is exposed, with limits and anchors that there are."""

import json
import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from pipelines.metrics import METRICS
from pipelines.settings import Board, Health, Metrics, Quality
from tests.docs.pages import ROOT
from tests.infra.promql import faults, labels_left, shown

PROMETHEUS = ROOT / "infra" / "prometheus"
DASHBOARD = ROOT / "infra" / "grafana" / "superfast-pts.json"
PROMTOOL = shutil.which("promtool")

LIMITS = {
    "PtsJobSilent": Health().heartbeat_seconds,
    "PtsLagSeconds": Health().lag_seconds,
    "PtsLagRecords": Health().lag_records,
    "PtsSealLagRecords": Health().lag_records,
    "PtsQuarantine": Quality().quarantined_share,
    "PtsManyFiles": Health().file_count,
}
"""Those that `pts health` has, too."""


def alerts() -> dict[str, dict[str, Any]]:
    """The rules by their names."""
    groups = yaml.safe_load((PROMETHEUS / "alerts.yml").read_text(encoding="utf-8"))["groups"]
    rules = [rule for group in groups for rule in group["rules"]]
    return {rule["alert"]: rule for rule in rules}


def panels() -> list[tuple[str, dict[str, Any]]]:
    """The queries of the dashboard, with their panel's title."""
    drawn = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [(panel["title"], target) for panel in drawn for target in panel.get("targets", ())]


@pytest.mark.parametrize("name", alerts())
def test_alert_asks_for_what_is_exposed_and_leads_to_the_runbook(name: str) -> None:
    rule = alerts()[name]
    assert faults(rule["expr"]) == []
    assert shown(rule["annotations"]["summary"]) <= labels_left(rule["expr"])
    assert rule["labels"]["severity"] in ("critical", "warning", "info")
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert anchor in anchors(page)


def anchors(page: str) -> set[str]:
    """Of the headings of a page, as the site makes them."""
    titles = re.findall(r"^#+ (.*)$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}


def test_alerts_have_their_limits_from_the_settings() -> None:
    found = {name: float(alerts()[name]["expr"].rpartition("> ")[2]) for name in LIMITS}
    assert found == LIMITS


def test_page_tells_of_each_alert_what_it_means_and_where_to_read_on() -> None:
    page = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
    told = dict(re.findall(r"^\| `(Pts\w+)` \|.*\]\(([^)]*)\)[^|]*\|$", page, re.MULTILINE))
    assert told == {name: rule["annotations"]["runbook"].removeprefix("docs/") for name, rule in alerts().items()}


@pytest.mark.parametrize(("title", "target"), panels(), ids=lambda value: value if isinstance(value, str) else "")
def test_panel_asks_for_what_is_exposed(title: str, target: dict[str, Any]) -> None:
    assert faults(target["expr"]) == [], title
    assert shown(target["legendFormat"]) <= labels_left(target["expr"])


def test_dashboard_shows_every_metric() -> None:
    asked = " ".join(target["expr"] for _, target in panels())
    assert [metric.name for metric in METRICS if metric.name not in asked] == []


def test_targets_are_where_the_settings_say() -> None:
    config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text(encoding="utf-8"))
    found = {each["job_name"]: each["static_configs"][0]["targets"] for each in config["scrape_configs"]}
    described = {name: field.description or "" for name, field in Metrics.model_fields.items()}
    (job,) = re.findall(r"expects (\d+)", described["port"])
    (sql,) = re.findall(r"expects (\d+)", described["sql_port"])
    (seal,) = re.findall(r"expects (\d+)", described["seal_port"])
    (api,) = re.findall(r"expects (\d+)", described["api_port"])
    assert found == {
        "pts-stream": [f"127.0.0.1:{job}"],
        "pts-api": [f"127.0.0.1:{api}"],
        "pts-sql-server": [f"127.0.0.1:{sql}"],
        "pts-seal": [f"127.0.0.1:{seal}"],
        "pts-board": [f"127.0.0.1:{Board().port}"],
    }
    page = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
    wanted = {
        *(f"PTS_METRICS__PORT={job}", f"PTS_METRICS__API_PORT={api}"),
        *(f"PTS_METRICS__SQL_PORT={sql}", f"PTS_METRICS__SEAL_PORT={seal}"),
    }
    assert wanted <= set(re.findall(r"`(\w+=\d+)`", page))


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("pts_lag_minutes > 1", "pts_lag_minutes: no such metric"),
        ("1 > 0", "1 > 0: no metric"),
        ('pts_lag_records{table="x"}', "pts_lag_records: no label table"),
        ('pts_records_total{outcome="lost"}', "pts_records_total: outcome is never lost"),
        ('pts_sql_queries_total{outcome="quarantined"}', "pts_sql_queries_total: outcome is never quarantined"),
        ("sum by (topic) (pts_lag_seconds)", "no label topic"),
        ("sum by (le) (pts_lag_seconds)", "no label le"),
        ("rate(pts_lag_seconds[1m])", "pts_lag_seconds: a gauge has no rate"),
        ("pts_batch_duration_seconds", "pts_batch_duration_seconds: no such metric"),
    ],
)
def test_query_for_what_is_not_exposed_is_noticed(query: str, fault: str) -> None:
    assert faults(query) == [fault]


@pytest.mark.slow
@pytest.mark.skipif(PROMTOOL is None, reason="no promtool was found (Debian: apt install prometheus)")
@pytest.mark.parametrize(
    "arguments",
    [("check", "config", "infra/prometheus/prometheus.yml"), ("test", "rules", "tests/infra/alerts_test.yml")],
    ids=["config", "rules"],
)
def test_prometheus_takes_the_rules_and_each_alert_fires_when_it_should(arguments: tuple[str, ...]) -> None:
    """The cases are in `alerts_test.yml`: of each alert a series by which it fires, and one by which it does not."""
    assert PROMTOOL is not None
    told = subprocess.run([PROMTOOL, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


def test_each_alert_has_a_case() -> None:
    cases = yaml.safe_load((ROOT / "tests" / "infra" / "alerts_test.yml").read_text(encoding="utf-8"))["tests"]
    fired = {each["alertname"] for case in cases for each in case["alert_rule_test"] if each.get("exp_alerts")}
    quiet = {each["alertname"] for case in cases for each in case["alert_rule_test"] if not each.get("exp_alerts")}
    assert fired == quiet == set(alerts())
