"""Where everything is that the stack serves."""

from pathlib import Path

from pipelines.processes import airflow
from pipelines.settings import Airflow, Api, Board, Broker, Metrics, Settings, SqlServer
from pipelines.stack.status import status


def test_every_address_is_told(tmp_path: Path) -> None:
    """A server whose settings are new is to be named here."""
    ports = {name: 21_000 + number for number, name in enumerate(Metrics.model_fields)}
    settings = Settings(
        home=tmp_path, broker=Broker(port=20_001), airflow=Airflow(port=20_002), api=Api(port=20_003),
        board=Board(port=20_004), sql=SqlServer(port=20_005), metrics=Metrics(**ports),
    )  # fmt: skip
    told = set(status(settings).places.values())
    parts = (getattr(settings, name) for name in type(settings).model_fields)
    urls = {part.url for part in parts if hasattr(part, "url")}
    assert len(urls) == 3
    assert urls | {settings.bootstrap_servers, airflow.url(settings), settings.lake_root} <= told
    assert {f"http://127.0.0.1:{port}/metrics" for port in (*ports.values(), 20_004)} <= told


def test_metrics_that_nobody_serves_have_no_address(tmp_path: Path) -> None:
    assert [name for name in status(Settings(home=tmp_path)).places if name.endswith("_metrics")] == ["board_metrics"]
