"""The settings of docs/kafka.md. Whether brokers take them: `tests/integration/test_handshakes.py`."""

import re
import shlex
from pathlib import Path

import pytest

from pipelines.errors import BrokerUnavailable
from pipelines.io.kafka import admin
from tests.calling import Pts
from tests.docs.conftest import Documented

ADDRESS = re.compile(r"BOOTSTRAP_SERVERS=\S+")
FOLDER = re.compile(r"=/(?:run/secrets|etc/ssl|etc/pts)/")


def test_connections_of_the_page_are_settings_that_fit(
    documented: Documented, pts: Pts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admin, "TIMEOUT_SECONDS", 0.2)
    while documented.left:
        text = ADDRESS.sub("BOOTSTRAP_SERVERS=127.0.0.1:1", FOLDER.sub(f"={tmp_path}/", documented.take("export")))
        given: dict[str, str] = {}
        for line in text.splitlines():
            program, *arguments = shlex.split(line, comments=True)
            if program == "export":
                name, _, value = arguments[0].partition("=")
                given[name] = value
                if value.startswith(str(tmp_path)):
                    Path(value).touch(0o600)
                    Path(value).write_text("secret\n")
                settings = pts("settings", home=tmp_path, **given) if line == text.splitlines()[-1] else None
                assert not settings or (settings.returncode, settings.stderr) == (0, "")
            else:
                assert program == ".venv/bin/pts"
                told = pts(*arguments, home=tmp_path, **given)
                assert told.returncode == BrokerUnavailable.exit_code, told.stderr
