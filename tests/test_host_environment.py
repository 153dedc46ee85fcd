"""What a host's environment may not change."""

import os
import tempfile
from pathlib import Path

import pytest

from pipelines import host_environment
from pipelines.host_environment import (
    forget_foreign_modules,
    leave_aside,
    name_user,
    scratch_below,
    spare_loopback,
)


def test_other_installations_are_left_aside_and_named() -> None:
    environment = {
        "SPARK_HOME": "/opt/spark",
        "_JAVA_OPTIONS": "-Xmx1m",
        "CLASSPATH": "",
        "HADOOP_CONF_DIR": "/etc/hadoop",
        "LC_ALL": "tr_TR.ISO-8859-9",
    }

    assert leave_aside(environment) == ["SPARK_HOME", "_JAVA_OPTIONS"]
    assert not {"SPARK_HOME", "_JAVA_OPTIONS"} & set(environment)
    assert environment["HADOOP_CONF_DIR"] == "/etc/hadoop", "it tells how storage is reached"
    assert environment["LC_ALL"] == "C.UTF-8", "Java names files by it"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({}, "127.0.0.1,localhost,::1"),
        ({"no_proxy": "corp,localhost"}, "corp,localhost,127.0.0.1,::1"),
        ({"NO_PROXY": "corp"}, "corp,127.0.0.1,localhost,::1"),
    ],
)
def test_loopback_never_goes_through_a_proxy(before: dict[str, str], after: str) -> None:
    environment = {"http_proxy": "http://proxy:3128", **before}
    spare_loopback(environment)
    assert (environment["no_proxy"], environment["NO_PROXY"]) == (after, after)
    spare_loopback(environment)
    assert environment["no_proxy"] == after


def test_modules_of_others_are_not_found(tmp_path: Path) -> None:
    theirs, own = tmp_path / "theirs", tmp_path / "own"
    path, environment = [str(own), str(theirs), "/site-packages"], {"PYTHONPATH": f"{theirs}{os.pathsep}{own}"}

    forget_foreign_modules(path, environment, own)

    assert path == [str(own), "/site-packages"]
    assert environment == {"PYTHONPATH": str(own)}


def test_what_is_temporary_is_below_the_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", "/nowhere")

    folder = scratch_below(tmp_path / "home")

    assert folder == tmp_path / "home" / "tmp"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (tempfile.gettempdir(), os.environ["TMPDIR"]) == (str(folder), str(folder))


def test_user_without_a_name_gets_one_and_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    named, nameless = {"PTS_HOME": "/data"}, {"PTS_HOME": "/data"}
    monkeypatch.setattr(host_environment, "user_has_a_name", lambda: True)
    name_user(named)
    monkeypatch.setattr(host_environment, "user_has_a_name", lambda: False)
    name_user(nameless)

    name = f"user-{os.getuid()}"
    assert named == {"PTS_HOME": "/data"}
    assert nameless == {"PTS_HOME": "/data", "USER": name, "LOGNAME": name, "HOME": "/data"}
