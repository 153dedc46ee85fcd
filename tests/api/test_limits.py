"""How much one client, and all of them, may ask."""

import pytest

from pipelines.api.limits import Limits
from pipelines.api.problems import Problem
from pipelines.settings import Api
from tests.api.makers import Clock


def refusal(limits: Limits, host: str = "192.0.2.1") -> Problem | None:
    try:
        limits.request(host)
    except Problem as problem:
        return problem
    return None


def test_client_that_asks_too_often_is_told_when_to_come_again() -> None:
    clock = Clock()
    made = Limits(Api(client_requests_per_second=2), clock)
    assert [refusal(made) for _ in range(6)] == [None] * 6, "three seconds' worth at once"
    problem = refusal(made)
    assert problem
    assert (problem.status, problem.kind, problem.headers) == (429, "too-many-requests", {"Retry-After": "1"})
    assert refusal(made, "192.0.2.2") is None, "others are not to blame"
    clock.now += 0.5
    assert refusal(made) is None
    assert refusal(made)


def test_all_clients_together_are_bounded() -> None:
    clock = Clock()
    made = Limits(Api(requests_per_second=2), clock)
    assert [refusal(made, f"192.0.2.{number}") for number in range(6)] == [None] * 6
    problem = refusal(made, "192.0.2.9")
    assert problem
    assert (problem.status, problem.headers) == (503, {"Retry-After": "1"})


def test_streams_are_bounded_and_their_places_given_back() -> None:
    made = Limits(Api(streams=3, client_streams=2))
    with made.stream("192.0.2.1"), made.stream("192.0.2.1"):
        with pytest.raises(Problem) as own, made.stream("192.0.2.1"):
            pass
        with made.stream("192.0.2.2"), pytest.raises(Problem) as of_all, made.stream("192.0.2.3"):
            pass
    assert (own.value.status, of_all.value.status) == (429, 503)
    assert own.value.headers["Retry-After"] == of_all.value.headers["Retry-After"] == "30"
    with made.stream("192.0.2.1"), made.stream("192.0.2.1"), made.stream("192.0.2.2"):
        pass
