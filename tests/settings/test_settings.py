"""Where settings say that things are."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from pipelines.settings import Settings, Storage, load_settings


@pytest.mark.parametrize(
    ("lake", "root"),
    [
        ("/data/lake/", "/data/lake"),
        ("file:/data/my%20lake", "/data/my lake"),
        ("file:///data/lake#1/", "/data/lake#1"),
        ("FILE://localhost/data/lake", "/data/lake"),
        ("~/lake", "/home/ada/lake"),
        ("s3://bucket/lake/", "s3://bucket/lake"),
        ("s3a://bucket/lake", "s3://bucket/lake"),
    ],
)
def test_lake_is_a_folder_however_it_is_written(lake: str, root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert Settings(lake=lake).lake_root == root


@pytest.mark.parametrize("lake", ["gs://bucket/lake", "hdfs://host:8020/lake", "s3://", "https://host/lake"])
def test_lake_elsewhere_is_refused(lake: str) -> None:
    with pytest.raises(ValidationError, match="neither a folder nor s3://bucket/name"):
        Settings(lake=lake)


def test_store_beyond_this_machine_is_asked_by_tls_alone() -> None:
    assert Storage(endpoint="http://127.0.0.1:9000").endpoint
    assert Storage(endpoint="https://store.example:9000").endpoint
    with pytest.raises(ValidationError, match="in plain text"):
        Storage(endpoint="http://store.example:9000")


@pytest.mark.parametrize(
    ("endpoint", "file", "sentence"),
    [
        ("", "ca.pem", "CA_FILE has no meaning without PTS_STORAGE__ENDPOINT=https"),
        ("http://127.0.0.1:9000", "ca.pem", "CA_FILE has no meaning without PTS_STORAGE__ENDPOINT=https"),
        ("https://127.0.0.1:9000", "", "it names no file: unset it"),
    ],
)
def test_authority_of_a_store_is_a_file_and_of_use(endpoint: str, file: str, sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Storage.model_validate({"endpoint": endpoint, "ca_file": file})


def test_key_of_a_store_needs_its_secret() -> None:
    with pytest.raises(ValidationError, match="go together"):
        Storage(access_key_id="pts")


def test_home_may_be_told_as_a_shell_would_have_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    monkeypatch.setenv("PTS_HOME", "~/pts")
    settings = load_settings()
    assert (settings.home, settings.lake_root) == (Path("/home/ada/pts"), "/home/ada/pts/lake")
