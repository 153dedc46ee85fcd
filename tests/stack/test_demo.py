"""What `pts demo` says besides its picture."""

from pathlib import Path
from typing import Any

from pipelines.settings import Settings
from pipelines.stack import demo
from pipelines.stack.demo_view import DemoView
from pipelines.stack.watch import AirflowReady


def test_line_about_all_pages_comes_once_airflow_answers(tmp_path: Path) -> None:
    settings, said = Settings(home=tmp_path), list[str]()
    view = DemoView(api=settings.api.url, board=settings.board.url)
    watch: Any = [[], [AirflowReady()], []]
    assert len(list(demo._rounds(watch, view, settings, said.append))) == 3
    assert said == [view.places()]
    assert f"board {settings.board.url}, " in said[0]
