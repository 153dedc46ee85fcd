"""What Spark makes of the judge, before its tasks write files."""

import pytest
from pyspark.sql import SparkSession

from pipelines.contracts.topics import INPUT_TOPICS, Topic
from pipelines.contracts.wire import Wire
from pipelines.engine.record_tasks import handed_over
from pipelines.graph import FLOWS
from pipelines.session import PROPERTIES
from tests.frames import record_frame
from tests.oracle.makers import scan


@pytest.mark.parametrize("topic", INPUT_TOPICS, ids=lambda topic: topic.name)
def test_judge_of_csv_is_compiled_stage_by_stage_and_not_step_by_step(spark: SparkSession, topic: Topic) -> None:
    """Above the limit Spark does not fuse the steps: each of them then copies the record."""
    query = handed_over(topic, Wire("csv"), [flow.into for flow in FLOWS if flow.topic == topic])
    frame = query.query(record_frame(spark, [scan(offset=0)]).repartition(1))
    assert spark._jvm is not None
    debug = getattr(getattr(spark._jvm.org.apache.spark.sql.execution.debug, "package$"), "MODULE$")
    stages = debug.codegenStringSeq(frame._jdf.queryExecution().executedPlan())
    sizes = [stages.apply(number)._3().maxMethodCodeSize() for number in range(stages.size())]
    assert 1_000 < max(sizes) <= int(PROPERTIES["spark.sql.codegen.hugeMethodLimit"])
