"""What the board shows, of a lake without a job and without a browser."""

import hashlib
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from pipelines.board import app, now, package, places
from pipelines.board.now import Lags
from pipelines.board.view import view_of
from pipelines.commands import QuarantineRedrive
from pipelines.contracts.rules import Reason
from pipelines.settings import Settings
from pipelines.state.heartbeat import beat
from pipelines.state.snapshots import newest_of
from tests.board.makers import client, healthy, page
from tests.healthy_lake import CONSISTENT_BATCH, HealthyLake, healthy_lake
from tests.waiting import becomes

pytestmark = pytest.mark.slow

HOSTILE = "<script>alert(1)</script>\"' onload=x {{7*7}} \u202e\x07"
PAGES = (
    "/",
    "/packages/42",
    "/packages/42?repeats=true",
    "/places",
    "/quarantine",
    "/batches",
    "/batches/3",
    "/history",
)
VENDORED = app.FOLDER / "static" / "vendored"


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return healthy(tmp_path_factory.mktemp("board"))


@pytest.mark.parametrize("path", PAGES)
def test_each_page_says_its_batch_and_has_nothing_inline_or_of_other_sites(path: str, lake: Settings) -> None:
    found = page(lake, path)
    batch = CONSISTENT_BATCH if path == "/places" else CONSISTENT_BATCH + 1
    assert f"At batch {batch} , committed 2026-03-01 12:01:00 UTC." in found.text
    assert len(found.all("h1")) == len(found.all("main")) == len(found.all("nav")) == 1
    for tag, attributes in found.elements:
        assert tag != "style"
        assert not any(name == "style" or name.startswith("on") for name in attributes)
        for name in ("src", "action"):
            assert (attributes.get(name) or "/").startswith("/")
        if tag == "link":
            assert str(attributes["href"]).startswith("/static/")


@pytest.mark.parametrize("path", PAGES)
def test_empty_lake_is_a_sentence(path: str, tmp_path: Path) -> None:
    assert "There are no tables at" in page(Settings(home=tmp_path), path, 404).text


def test_package_marks_late_and_repeated_scans_and_says_what_made_its_report(tmp_path: Path) -> None:
    spoilt = healthy_lake()
    for rows in (spoilt.tables, spoilt.later):
        for row in rows["silver.ship_events"]:
            if (row["kafka_partition"], row["kafka_offset"]) == (0, 1):  # 10:20, which now comes after 10:30
                row["kafka_timestamp"] += 3600 * 1_000_000
    settings = healthy(tmp_path, spoilt)
    assert not re.search(r"told \d+ times|tells .* again", page(settings, "/packages/42").text)
    found = page(settings, "/packages/42?repeats=true").text
    assert "ship-events/0@1" in found
    assert re.search(r"10:20:00 delivery failed, New York, US late ship-events/0@1", found)
    assert re.search(r"10:00:00 delivery failed, New York, US told 2 times ship-events/0@0", found)
    assert "Its latest scan is ship-events/0@7 , taken in by batch 4" in found
    assert "8 without a scan Stop 12 end of its route" in found
    assert "Stop 13 beyond the end of its route" in found


def test_unknown_package_and_what_is_no_number_are_sentences(lake: Settings) -> None:
    assert "Package 4711 is in neither" in page(lake, "/packages/4711", 404).text
    for path in ("/packages/0", f"/packages/{1 << 63}", "/packages/x", "/quarantine?reason=x", "/batches?last=x"):
        assert "nothing to show" in page(lake, path, 422).text
    assert "There is no batch 99" in page(lake, "/batches/99", 404).text


def test_form_leads_to_the_package(lake: Settings) -> None:
    answer = client(lake).get("/packages?number=+42+", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/packages/42")
    assert client(lake).get("/packages?number=//x", follow_redirects=False).headers["location"] == "/packages/0"


def test_hostile_text_is_shown_as_text(tmp_path: Path) -> None:
    spoilt = healthy_lake()
    for rows in (spoilt.tables, spoilt.later):
        for name in ("silver.ship_events", "gold.remaining_stops", "gold.busiest_stops", "silver.quarantine"):
            for row in rows.get(name, ()):
                row.update({column: HOSTILE for column in ("city", "detail") if column in row})
                if "reason" in row:
                    row["value"] = HOSTILE.encode()
    settings = healthy(tmp_path, spoilt)
    for path in ("/packages/42", "/places", "/quarantine"):
        found = page(settings, path)
        assert [each["src"] for each in found.all("script")] == [
            "/static/vendored/htmx.min.js", "/static/vendored/uPlot.min.js", "/static/board.js",
        ]  # fmt: skip
        assert "<script>alert(1)</script>" in found.text
        assert not re.search("[\u202e\x07]", found.text)
    assert r"\x07" in page(settings, "/quarantine").text


def test_stopped_job_is_told_with_what_to_do(lake: Settings) -> None:
    beat(lake.lake_root, {"at": "2026-03-01T12:01:00+00:00", "lag_records": 1234, "lag_seconds": 2.0})
    found = page(lake, "/").text
    assert "1,234 records" in found
    assert "`pts status` tells whether the job runs and has its log" in found
    assert "stream stopped" in found


def test_quarantine_names_the_command_by_which_a_reason_is_judged_again(lake: Settings) -> None:
    found = page(lake, "/quarantine?reason=empty").text
    assert " ".join(["pts", *QuarantineRedrive(reasons=(Reason.EMPTY,)).argv()]) in found


def test_lag_of_a_job_that_is_silent_grows(tmp_path: Path) -> None:
    at = datetime(2026, 3, 1, 12, tzinfo=UTC)
    beat(str(tmp_path), {"at": at.isoformat(), "lag_records": 1, "lag_seconds": 2.0})
    lags = Lags(str(tmp_path))
    for seconds in (1, 60):
        lags.look(at + timedelta(seconds=seconds))
    assert lags.chart().values == (2.0, 60.0)


def test_lag_is_followed_also_after_a_look_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([OSError("the store is away")])

    def look(_: str) -> dict[str, object]:
        for error in looks:
            raise error
        return {"at": datetime.now(UTC), "lag_seconds": 2.0}

    monkeypatch.setattr(now, "last_beat", look)
    monkeypatch.setattr(now, "SAMPLE_SECONDS", 0.01)
    lags = Lags(str(tmp_path))
    with lags.followed():
        assert becomes(lambda: bool(lags.chart().values))


def test_page_stays_at_its_batch_when_another_one_lands(tmp_path: Path) -> None:
    whole = healthy_lake()
    settings = healthy(tmp_path, HealthyLake(whole.tables | {"ops.batches": whole.ledger[:-1]}))
    with view_of(settings.lake_root, package.READ) as view:
        before = package.package_page(view, 42, None)
        HealthyLake({"ops.batches": whole.ledger}, whole.later).write(tmp_path / "lake")
        assert package.package_page(view, 42, None) == before
    with view_of(settings.lake_root, package.READ) as view:
        assert (view.batch_id, package.package_page(view, 42, None).package.scans[:-1]) == (
            CONSISTENT_BATCH + 1,
            before.package.scans,
        )


def test_tables_that_move_with_each_batch_are_read_at_a_newer_one_than_windows(lake: Settings) -> None:
    assert newest_of(lake.lake_root, ["gold.remaining_stops"]).batch_id == CONSISTENT_BATCH + 1
    assert newest_of(lake.lake_root, ["gold.remaining_stops", "gold.stop_activity"]).batch_id == CONSISTENT_BATCH


def test_tables_that_hold_nothing_yet_are_a_sentence(tmp_path: Path) -> None:
    """As in the first minute, before windows caught up."""
    spoilt = healthy_lake()
    for row in spoilt.ledger:
        for state in row["tables"]:
            if state["table_name"] in places.READ:
                state["position"] = -1
    assert "There is no batch at which" in page(healthy(tmp_path, spoilt), "/places", 404).text


def test_reason_and_window_can_be_chosen(lake: Settings) -> None:
    reasons = [each["href"] for each in page(lake, "/quarantine").all("a") if "reason=" in str(each["href"])]
    assert reasons
    for link in reasons:
        assert f"Examples of {str(link).partition('=')[2]}" in page(lake, str(link)).text
    windows = [each["href"] for each in page(lake, "/places").all("a") if "window=" in str(each["href"])]
    assert "Busiest stops, window of" in page(lake, str(windows[-1])).text


def test_maintenance_is_told_apart_from_batches_of_the_log(tmp_path: Path) -> None:
    spoilt = healthy_lake()
    spoilt.ledger[2]["checkpoint_batch_id"] = spoilt.ledger[1]["checkpoint_batch_id"]
    settings = healthy(tmp_path, spoilt)
    assert "2 maintenance" in page(settings, "/batches").text
    assert "rows were removed" in page(settings, "/history").text


def test_vendored_files_are_as_they_were_published() -> None:
    lines = (VENDORED / "vendored.lock").read_text(encoding="utf-8").splitlines()[1:]
    known = {line.split()[0]: line.split()[-1] for line in lines}
    assert set(known) == {path.name for path in VENDORED.iterdir() if path.suffix in (".js", ".css")}
    for name, checksum in known.items():
        assert hashlib.sha256((VENDORED / name).read_bytes()).hexdigest() == checksum
        assert (VENDORED / f"{name.partition('.')[0]}.LICENSE").is_file()


def test_static_files_are_those_alone(lake: Settings) -> None:
    for name in app.STATIC:
        assert client(lake).get(f"/static/{name}").status_code == 200
    for name in ("../app.py", "vendored/vendored.lock", "%2e%2e/app.py", ""):
        assert client(lake).get(f"/static/{name}").status_code == 404
