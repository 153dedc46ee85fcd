"""Who may what in Airflow, as the roles say that are made at its first start."""

import json
from collections import defaultdict

import pytest
from airflow.providers.fab.auth_manager.security_manager.override import FabAirflowSecurityManagerOverride

from pipelines.stack.airflow import ROLES

pytestmark = pytest.mark.slow

VIEWER = set(FabAirflowSecurityManagerOverride.VIEWER_PERMISSIONS)


def test_operators_start_runs_and_approvers_answer_and_both_look() -> None:
    made: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
    for entry in json.loads(ROLES.read_text()):
        made[entry["name"]] |= {(action, entry["resource"]) for action in entry["action"].split(",")}

    assert {role: may - VIEWER for role, may in made.items()} == {
        "Operator": {
            ("can_edit", "DAGs"),  # without which no run can be started
            ("can_create", "DAG Runs"),
            ("can_create", "Backfills"),
            ("can_edit", "Backfills"),
        },
        "Approver": {("can_edit", "DAGs"), ("can_edit", "HITL Detail"), ("menu_access", "HITL Detail")},
    }
    assert all(may >= VIEWER for may in made.values())


def test_no_role_that_looks_reads_secrets_of_airflow() -> None:
    secret = {"Connections", "Variables", "Configurations", "Passwords", "Users", "Audit Logs"}
    assert {entry["resource"] for entry in json.loads(ROLES.read_text())} & secret == set()
