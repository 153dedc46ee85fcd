"""What this program leaves aside of the environment that it finds: it runs on what its own set-up installed."""

import os
import pwd
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

OF_OTHER_INSTALLATIONS = (
    "SPARK_HOME",
    "SPARK_CONF_DIR",
    "SPARK_DIST_CLASSPATH",
    "SPARK_LOCAL_DIRS",
    "PYSPARK_DRIVER_PYTHON",
    "PYSPARK_SUBMIT_ARGS",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "CLASSPATH",
)
"""Variables of another Spark, Java or Python, as the profile of an edge node sets them: other code would run."""

LOCALE = "C.UTF-8"
"""glibc has it, whatever is installed. In some others, Java cannot name files as Python does, or changes the case of
letters in its own way."""

LOOPBACK = "127.0.0.1,localhost,::1"


def leave_aside(environment: MutableMapping[str, str]) -> list[str]:
    """Takes out what is of other installations, and returns the names of what was there. For what is started, it sets
    the locale.
    """
    found = [name for name in OF_OTHER_INSTALLATIONS if environment.pop(name, "")]
    environment["LC_ALL"] = LOCALE
    spare_loopback(environment)
    return found


def scratch_below(home: Path) -> Path:
    """A folder of this user alone, in which this process and those that it starts put what is temporary."""
    folder = home.resolve() / "tmp"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder)
    return folder


def name_user(environment: MutableMapping[str, str]) -> None:
    """Gives a user whom the system does not know a name and, for lack of one, $PTS_HOME as the home."""
    if not user_has_a_name():
        environment["USER"] = environment["LOGNAME"] = f"user-{os.getuid()}"
        environment["HOME"] = environment.get("HOME") or str(Path(environment.get("PTS_HOME") or "var").absolute())


def user_has_a_name() -> bool:
    """Whether the system knows this user; in a container with an id of its own it does not."""
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        return False
    return True


def spare_loopback(environment: MutableMapping[str, str]) -> None:
    """What is on this machine is never asked for through a proxy."""
    for name in ("no_proxy", "NO_PROXY"):
        there = environment.get(name) or environment.get(name.swapcase()) or ""
        missing = [host for host in LOOPBACK.split(",") if host not in there.split(",")]
        environment[name] = ",".join(filter(None, [there, *missing]))


def forget_foreign_modules(path: list[str], environment: MutableMapping[str, str], own: Path) -> None:
    """Takes the folders of PYTHONPATH, but for this program's own, out of the module search path, and out of what
    processes inherit that it starts.
    """
    named = {Path(folder).resolve() for folder in environment.pop("PYTHONPATH", "").split(os.pathsep) if folder}
    path[:] = [folder for folder in path if Path(folder).resolve() not in named - {own}]
    if own in named:
        environment["PYTHONPATH"] = str(own)
