"""Scrapes on a port of their own: who gets what, and that nothing that goes wrong with them is the process's."""

import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import httpx
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from pipelines.metrics import API_READY, BOARD_BATCH
from pipelines.web import metrics_endpoint as module
from pipelines.web.instruments import gauge, measured
from pipelines.web.metrics_endpoint import metrics_endpoint
from tests.ports import listening, unused_ports


@contextmanager
def endpoint(registry: CollectorRegistry) -> Iterator[str]:
    port = unused_ports()[0]
    with metrics_endpoint(port, registry, "Set IT."):
        yield f"http://127.0.0.1:{port}"


def one() -> CollectorRegistry:
    registry = CollectorRegistry()
    gauge(BOARD_BATCH, registry).set(7)
    return registry


def test_metrics_are_at_their_path_and_nothing_else_is() -> None:
    with endpoint(one()) as url:
        answer = httpx.get(f"{url}/metrics")
        assert answer.text.splitlines()[-1] == "pts_board_view_batch_id 7.0"
        assert answer.headers["content-type"].startswith("text/plain; version=")
        assert httpx.get(f"{url}/").status_code == 404
        assert httpx.post(f"{url}/metrics").status_code == 501
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/metrics")


@pytest.mark.parametrize("host", ["prometheus.example", "192.0.2.7:9464", ""])
def test_site_whose_name_suddenly_leads_here_gets_nothing(host: str) -> None:
    with endpoint(one()) as url:
        refused = httpx.get(f"{url}/metrics", headers={"Host": host})
        assert (refused.status_code, "pts_" in refused.text) == (421, False)


def test_no_other_machine_can_connect() -> None:
    """It is bound to the loopback interface, of which each address of 127.0.0.0/8 is one; of others it has none."""
    with endpoint(one()) as url:
        port = int(url.rpartition(":")[2])
        with socket.create_server(("127.0.0.2", port)):  # free: nobody listens on all addresses
            pass


def test_port_that_is_taken_is_told_and_the_block_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    with listening() as port, metrics_endpoint(port, one(), "Set IT."):
        told = capsys.readouterr().err
    assert told == (
        f"pts: warning: 127.0.0.1 port {port} cannot be used, so there are no metrics: Address already in use. "
        "Set IT.\n"
    )


class Failing(Collector):
    def __init__(self) -> None:
        self.is_broken = False

    def collect(self) -> Iterable[GaugeMetricFamily]:
        if self.is_broken:
            raise ValueError("a defect")
        return [measured(API_READY, [((), 1.0)])]


def test_scrape_that_fails_is_500_and_the_next_one_is_answered(capsys: pytest.CaptureFixture[str]) -> None:
    registry, failing = CollectorRegistry(), Failing()
    registry.register(failing)
    with endpoint(registry) as url:
        failing.is_broken = True
        assert httpx.get(f"{url}/metrics").status_code == 500
        failing.is_broken = False
        assert httpx.get(f"{url}/metrics").status_code == 200
    assert capsys.readouterr().err == "pts: warning: /metrics fails: ValueError('a defect')\n"


class Slow(Collector):
    def __init__(self) -> None:
        self.is_asked, self.may_answer, self.has_answered = (threading.Event() for _ in range(3))

    def collect(self) -> Iterable[GaugeMetricFamily]:
        self.is_asked.set()
        assert self.may_answer.wait(20)
        self.has_answered.set()
        return [measured(API_READY, [((), 1.0)])]


def under_way(url: str, slow: Slow) -> threading.Thread:
    """A scrape that waits for its slow part."""
    asked = threading.Thread(target=lambda: httpx.get(f"{url}/metrics", timeout=30))
    asked.start()
    assert slow.is_asked.wait(20)
    return asked


def test_scrape_that_takes_long_holds_up_neither_others_nor_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LAST_SECONDS", 0.1)
    registry, slow = CollectorRegistry(), Slow()
    registry.register(slow)
    with endpoint(registry) as url:
        asked = under_way(url, slow)
        assert httpx.get(f"{url}/other").status_code == 404
    assert asked.is_alive(), "nobody waited for its answer"
    slow.may_answer.set()
    asked.join(20)
    assert not asked.is_alive()


def test_end_waits_for_a_scrape_that_is_under_way() -> None:
    """Or Python would end while its thread is within an engine."""
    registry, slow = CollectorRegistry(), Slow()
    registry.register(slow)
    with endpoint(registry) as url:
        asked = under_way(url, slow)
        threading.Timer(0.2, slow.may_answer.set).start()
    assert slow.has_answered.is_set()
    asked.join(20)
