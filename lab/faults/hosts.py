"""Hosts that were set up for other programs, each start on another one."""

from lab.faults import clocks, kills
from lab.faults.scene import Scene
from tests.foreign import foreign_variables

PLACES = (
    "country=DE/lake",
    "Größe 1 & 2/it's 100% (new)/lake",
    "country=DE/current_stop_id=x/kafka_offset=1/größer 📦",
)
"""Of a lake: with names of columns and values that would be theirs, and what shells and engines may take amiss."""

LOCALES = ("C", "POSIX", "C.UTF-8", "tr_TR.UTF-8", "de_DE.ISO-8859-1", "ja_JP.eucJP")
"""Also such as are not installed."""

OF_LOCALES = ("LANG", "LC_ALL", "LC_CTYPE")


def foreign(scene: Scene) -> None:
    """Each start of the live job finds variables, a zone and a locale of another host, and dies at any time."""
    variables = foreign_variables(scene.folder / "others")
    scene.place_lake(str(scene.folder / scene.chance.choice(PLACES)))
    with scene.auditor.watching():
        with scene.load():
            for _ in range(scene.chance.randint(2, 4)):
                _move(scene, variables)
                kills.kill_at_any_time(scene)
        _move(scene, variables)
        scene.judge()


def _move(scene: Scene, variables: dict[str, str]) -> None:
    """To another host."""
    named = scene.chance.sample(sorted(variables), scene.chance.randint(2, len(variables)))
    scene.host = {name: variables[name] for name in named}
    scene.host[scene.chance.choice(OF_LOCALES)] = scene.chance.choice(LOCALES)
    scene.zone = scene.chance.choice(clocks.ZONES)
