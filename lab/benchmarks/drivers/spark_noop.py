"""The floor in Spark: the product's session reads both topics from end to end and does nothing with them."""

from lab.benchmarks.answering import answer_requests
from pipelines.contracts.topics import INPUT_TOPICS
from pipelines.session import open_session
from pipelines.settings import load_settings


def main() -> None:
    settings = load_settings()
    spark = open_session(settings, "floor")

    def read(request: dict[str, str]) -> None:
        records = (
            spark.read.format("kafka")
            .option("kafka.bootstrap.servers", request["servers"])
            .option("subscribe", ",".join(topic.name for topic in INPUT_TOPICS))
            .option("startingOffsets", "earliest")
            .option("endingOffsets", "latest")
            .option("includeHeaders", "true")
            .load()
        )
        records.write.format("noop").mode("overwrite").save()

    answer_requests(read)
    spark.stop()


if __name__ == "__main__":
    main()
