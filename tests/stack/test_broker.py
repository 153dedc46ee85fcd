"""The embedded broker's first start, in which another Java makes its folder."""

import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from pipelines import commands
from pipelines.stack import broker
from tests.brokers import embedded
from tests.waiting import becomes


def test_broker_that_is_ended_while_its_folder_is_made_leaves_no_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pid = tmp_path / "pid"
    formatting = f"import os, pathlib, time; pathlib.Path({str(pid)!r}).write_text(str(os.getpid())); time.sleep(30)"
    monkeypatch.setattr(broker, "_java", lambda *_, **__: [sys.executable, "-c", formatting])
    monkeypatch.delattr(os, "execv")  # else this process would become what goes on all the same

    def end() -> None:
        assert becomes(lambda: pid.exists() and bool(pid.read_text()), seconds=20)
        os.kill(os.getpid(), signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, lambda *_: None)  # the tests go on whatever the broker does
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(end)
            with pytest.raises(KeyboardInterrupt):
                broker.run(commands.Broker(), embedded(tmp_path / "home"))
    finally:
        signal.signal(signal.SIGTERM, before)
    with suppress(ChildProcessError):  # its end was awaited
        _, status = os.waitpid(int(pid.read_text()), 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
