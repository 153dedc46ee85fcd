"""The API against its own description: what schemathesis thinks of asking, as described and not."""

from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok

from tests.api.makers import Stand, message, stand

pytestmark = pytest.mark.slow

UNBOUNDED = {"requests_per_second": 1e6, "client_requests_per_second": 1e6}
PATHS = {"/packages/{trackingNumber}", "/packages/{trackingNumber}/events", "/healthz", "/readyz"}


def asked(made: Stand, mode: GenerationMode) -> set[str]:
    """Asks each operation, requires that answers are as described, and returns the paths."""
    made.wait_seconds = 0
    made.hub.close()  # streams end at once
    schema = schemathesis.openapi.from_asgi("/openapi.json", made.app)
    paths = set()
    for found in schema.get_all_operations():
        assert isinstance(found, Ok), found
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and not operation.definition.raw.get("parameters"):
            continue  # nothing can be asked otherwise

        @settings(max_examples=40, derandomize=True, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(generation_mode=mode))
        def ask(case: Case[Any]) -> None:
            answer = case.call_and_validate(excluded_checks=[not_a_server_error])  # which takes each 503 for a defect
            assert answer.status_code != 500

        ask()
        paths.add(operation.path)
    return paths


def test_answers_are_as_described(tmp_path: Path) -> None:
    with stand(tmp_path, message(0), message(1, 7), **UNBOUNDED) as made:
        assert asked(made, GenerationMode.POSITIVE) == PATHS


def test_what_is_not_as_described_is_answered_as_described(tmp_path: Path) -> None:
    with stand(tmp_path, message(0), message(1, 7), **UNBOUNDED) as made:
        assert asked(made, GenerationMode.NEGATIVE) == {path for path in PATHS if "{" in path}


def test_answers_are_as_described_when_it_is_not_ready(tmp_path: Path) -> None:
    with stand(tmp_path, message(0), **UNBOUNDED) as made:
        made.freshness.lost()
        assert asked(made, GenerationMode.POSITIVE) == PATHS
