"""What a browser is told of every page."""

from pipelines.web.headers import HEADERS


def test_policy_lets_a_page_run_and_ask_nothing_but_its_own_server() -> None:
    policy = dict(rule.split(maxsplit=1) for rule in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert {kind for kind, sources in policy.items() if sources not in ("'self'", "'none'")} == set()
    assert {policy[kind] for kind in ("base-uri", "frame-ancestors")} == {"'none'"}
