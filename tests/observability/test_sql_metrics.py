"""What the SQL server tells Prometheus."""

from pipelines import metrics
from pipelines.observability.sql_metrics import SqlMetrics
from pipelines.web.instruments import exposition
from tests.exposed import documented, exposed, labels_of, samples


def test_queries_and_sessions_are_told_as_the_catalogue_says() -> None:
    counted = SqlMetrics()
    counted.query_ended("refused", None)
    counted.query_ended("answered", 0.3)
    counted.query_ended("cancelled", 601.0)
    counted.sessions_are(2)
    found = exposition(counted.registry).decode()
    assert exposed(found) == documented(metrics.SQL)
    assert labels_of(found) == {name: {frozenset(metric.labels)} for metric in metrics.SQL for name in metric.samples}
    assert samples(found, metrics.SQL_QUERIES) == {
        **{("answered",): 1, ("refused",): 1},
        **{("failed",): 0, ("cancelled",): 1},
    }
    assert samples(found, metrics.SQL_DURATION, "_sum") == {(): 601.3}
    assert samples(found, metrics.SQL_SESSIONS) == {(): 2}
