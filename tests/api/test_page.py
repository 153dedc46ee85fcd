"""What a person sees, without JavaScript, on whatever device."""

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from pipelines.api.texts import LANGUAGES, language_of
from pipelines.contracts.rules import Status
from tests.api.makers import TOPIC, Stand, message, stand
from tests.pages import Parsed

HOSTILE = "<script>alert(1)</script>\"' onload=x {{7*7}} \u202e\x07"


def page(made: Stand, path: str, status: int = 200, accepted: str | None = None) -> Parsed:
    headers = {} if accepted is None else {"accept-language": accepted}
    answer: Any = TestClient(made.app).get(path, headers=headers)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    parsed = Parsed(answer.text)
    assert parsed.only("html")["lang"] == answer.headers["content-language"]
    return parsed


def test_page_says_how_many_stops_remain_where_and_when(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:
        found = page(made, "/track/42")
    for words in ("Package 42", "4 stops to go", "In transit", "Stop 9 of 13", "4 January 2026, 15:21 UTC"):
        assert words in found.text
    assert found.only("progress") == {"aria-label": "Stops so far", "value": "9", "max": "13"}
    assert found.only("time")["datetime"] == "2026-01-04T15:21:06.903000Z"


@pytest.mark.parametrize(
    ("members", "headline"),
    [
        ({"numberOfRemainingStops": 1, "currentStopId": 12}, "1 stop to go"),
        ({"numberOfRemainingStops": 0, "currentStopId": 13}, "At its last stop"),
        ({"numberOfRemainingStops": -2, "currentStopId": 15}, "At its last stop"),
        ({"numberOfRemainingStops": 0, "statusCode": "DL"}, "Delivered"),
        ({"numberOfRemainingStops": None, "endStopId": None}, "On its way; how many stops remain is not known yet"),
        ({"numberOfRemainingStops": 0, "currentStopId": 0, "endStopId": 0}, "At its last stop"),
        (
            dict.fromkeys(("numberOfRemainingStops", "currentStopId", "statusCode", "occurredAt")),
            "Not on its way yet",
        ),
    ],
)
def test_page_has_a_headline_for_each_state(members: dict[str, Any], headline: str, tmp_path: Path) -> None:
    with stand(tmp_path, message(3, **members)) as made:
        assert headline in page(made, "/track/42").text


def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    with stand(tmp_path, message(3, statusCode=HOSTILE)) as made:
        found = page(made, "/track/42")
    assert [attributes for tag, attributes in found.elements if tag == "script"] == [
        {"src": "/static/track.js", "defer": None}
    ]
    assert "<script>alert(1)</script>" in found.text
    assert not re.search("[\u202e\x07]", found.text)
    assert "49" not in found.text


def test_page_without_javascript_asks_again_by_itself_and_with_it_listens(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:
        found = page(made, "/track/42")
    assert ("meta", {"http-equiv": "refresh", "content": "15"}) in found.elements
    report = next(attributes for _, attributes in found.elements if attributes.get("id") == "report")
    assert report["data-events"] == f"/packages/42/events?lastEventId={TOPIC}/0@3"
    assert (report["aria-live"], report["aria-atomic"]) == ("polite", "true")


@pytest.mark.parametrize("path", ["/", "/track/42", "/track/43", "/docs"])
def test_pages_have_landmarks_one_heading_and_nothing_inline(path: str, tmp_path: Path) -> None:
    """What the policy forbids would not work: scripts and styles within the page, or of other sites."""
    with stand(tmp_path, message(3)) as made:
        found = page(made, path, 404 if path == "/track/43" else 200)
    for tag in ("header", "main", "footer", "h1", "title", "nav"):
        found.only(tag)
    for tag, attributes in found.elements:
        assert tag != "style"
        assert not any(name == "style" or name.startswith("on") for name in attributes)
        for name in ("src", "href", "action"):
            assert (attributes.get(name) or "/").startswith(("/", "?"))
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in found.elements


@pytest.mark.parametrize(
    ("accepted", "code"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-AT,en;q=0.5", "de"),
        ("en;q=0.5, DE;q=0.6", "de"),
        ("fr, de;q=0.3, en;q=0.2", "de"),
        ("fr", "en"),
        ("de;q=0", "en"),
        ("de;q=x,en", "en"),
        (",;,", "en"),
    ],
)
def test_language_is_what_the_browser_prefers(accepted: str, code: str) -> None:
    assert language_of(accepted) == code


def test_page_speaks_german_and_links_to_the_other_language(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:
        german = page(made, "/track/42", accepted="de-DE")
        assert page(made, "/track/42?lang=en", accepted="de-DE").only("html")["lang"] == "en"
        page(made, "/track/42?lang=xx")
        answer = TestClient(made.app).get("/track/42")
    for words in ("Sendung 42", "Noch 4 Stationen", "Unterwegs", "Station 9 von 13", "4. Januar 2026, 15:21 UTC"):
        assert words in german.text
    assert ("a", {"href": "?lang=en", "hreflang": "en", "lang": "en"}) in german.elements
    assert answer.headers["vary"] == "Accept-Language"


def test_languages_say_the_same_things() -> None:
    for texts in LANGUAGES.values():
        assert set(texts.statuses) == set(Status)
        assert all(getattr(texts, field.name) or field.name == "time_format" for field in fields(texts))
    english, german = LANGUAGES.values()
    assert set(english.problems) == set(german.problems)
    for field in fields(english):
        if field.type == "str" or field.type is str:
            here, there = (str(getattr(texts, field.name)).count("{}") for texts in (english, german))
            assert here == there, field.name


def test_errors_are_pages_too(tmp_path: Path) -> None:
    with stand(tmp_path, message(3)) as made:
        assert "We have not heard of this package yet" in page(made, "/track/43", 404).text
        assert "digits only" in page(made, "/track/x<b>", 422).text
        made.freshness.lost()
        found = page(made, "/track/42", 503)
    assert ("meta", {"http-equiv": "refresh", "content": "30"}) in found.elements
    assert "stops to go" not in found.text


def test_form_leads_to_the_package(tmp_path: Path) -> None:
    with stand(tmp_path) as made:
        client = TestClient(made.app, follow_redirects=False)
        for number, place in {
            "42": "/track/42",
            " 42 ": "/track/42",
            "//evil.example": "/track/0",
            "": "/track/0",
        }.items():
            answer = client.get("/track", params={"number": number})
            assert (answer.status_code, answer.headers["location"]) == (303, place)
        assert client.get("/track?number=42&lang=de").headers["location"] == "/track/42?lang=de"
        assert client.get("/track?number=42&lang=//x").headers["location"] == "/track/42"


def test_static_files_are_two_and_no_others(tmp_path: Path) -> None:
    with stand(tmp_path) as made:
        client = TestClient(made.app)
        assert client.get("/static/track.js").headers["content-type"].startswith("text/javascript")
        assert client.get("/static/track.css").headers["content-type"].startswith("text/css")
        for other in ("app.py", "..%2fapp.py", "%2e%2e/app.py", "track.html"):
            assert client.get(f"/static/{other}").status_code == 404
