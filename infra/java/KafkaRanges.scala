package org.apache.spark.sql.kafka010 // where Spark's tasks for Kafka can be reached

import java.util.{Map => JavaMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv
import org.apache.spark.internal.config.Network.NETWORK_TIMEOUT
import org.apache.spark.sql.DataFrame
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.catalyst.util.CaseInsensitiveMap
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.execution.datasources.v2.DataSourceRDD
import org.apache.spark.sql.superfastpts.MadeRows

/** Ranges of the log, in the columns of Spark's own source, and read by the same tasks. That source would ask the
  * brokers for each frame, by a client that it makes and closes, whether the partitions are there.
  */
object KafkaRanges {
  private val prefix = "kafka."
  private val columns = KafkaRecordToRowConverter.kafkaSchema(includeHeaders = true)

  /** @param options of consumers, by the names that Spark's source has for them
    * @param group the consumers' `group.id`, by which an executor keeps them
    * @param start, end offsets, as Spark's source takes them
    * @param tasks at most so many read; a partition is read by one
    */
  def records(
      session: SparkSession, options: JavaMap[String, String], group: String, start: String, end: String, tasks: Int
  ): DataFrame = {
    val parameters = options.asScala.collect {
      case (name, value) if name.startsWith(prefix) => name.drop(prefix.length) -> value
    }.toMap
    val (from, until) = (JsonUtils.partitionOffsets(start), JsonUtils.partitionOffsets(end))
    // Asks nobody: where each partition begins is told.
    val planner = KafkaOffsetReader.build(
      AssignStrategy(until.keys.toArray), KafkaSourceProvider.kafkaParamsForDriver(parameters),
      CaseInsensitiveMap(Map.empty), group
    )
    val ranges = try planner.getOffsetRangesFromResolvedOffsets(from, until, (_, error) => throw error())
    finally planner.close()
    val consumer = KafkaSourceProvider.kafkaParamsForExecutors(parameters, group)
    val patienceMs = SparkEnv.get.conf.get(NETWORK_TIMEOUT) * 1000
    val inputs = ranges.map { range =>
      Option(KafkaBatchInputPartition(range, consumer, patienceMs, failOnDataLoss = true, includeHeaders = true))
    }
    val rows =
      new DataSourceRDD(session.sparkContext, inputs, KafkaBatchReaderFactory, columnarReads = false, Map.empty)
    Dataset.ofRows(session, MadeRows(toAttributes(columns), rows.coalesce(tasks)))
  }
}
