"""What `pts demo` says besides its picture."""

from pathlib import Path
from typing import Any

from pipelines.settings import Settings
from pipelines.stack import demo
from pipelines.stack.demo_view import DemoView
from pipelines.stack.watch import AirflowReady


def test_word_of_all_pages_comes_once_airflow_answers(tmp_path: Path) -> None:
    class Screen:
        def say_places(self, view: DemoView) -> None:
            said.append(view.airflow)

    screen: Any = Screen()
    settings, said = Settings(home=tmp_path), list[str | None]()
    watch: Any = [[], [AirflowReady("http://there")], []]
    assert len(list(demo.rounds(watch, DemoView(), settings, screen))) == 3
    assert said == ["http://there, as admin"]
