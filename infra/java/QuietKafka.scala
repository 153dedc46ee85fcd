package org.apache.spark.sql.kafka010 // where Spark's source can be reached

import java.lang.System.nanoTime
import java.util.{Map => JavaMap, Optional}
import java.util.concurrent.TimeUnit.{MILLISECONDS, SECONDS}

import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory, ScanBuilder}
import org.apache.spark.sql.connector.read.streaming._
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Spark's own source, which looks less often for new records while the log is quiet. Spark looks some sixty times a
  * second, and asks the brokers twice each time, however long nothing has come.
  */
class QuietKafkaProvider extends KafkaSourceProvider {
  override def getTable(options: CaseInsensitiveStringMap): KafkaTable =
    new KafkaTable(options.getBoolean(KafkaSourceProvider.INCLUDE_HEADERS, false)) {
      override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
        new KafkaScan(options) {
          override def toMicroBatchStream(checkpoint: String): MicroBatchStream =
            new QuietKafkaStream(super.toMicroBatchStream(checkpoint).asInstanceOf[KafkaMicroBatchStream])
        }
    }
}

private class QuietKafkaStream(source: KafkaMicroBatchStream)
    extends MicroBatchStream with SupportsTriggerAvailableNow with ReportsSourceMetrics {

  private val quietAfter = SECONDS.toNanos(1)
  private val restMs = 90L // and Spark's own 10 ms
  private var nothingSince: Option[Long] = None

  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val latest = source.latestOffset(start, limit)
    nothingSince = if (latest == start) nothingSince.orElse(Some(nanoTime)) else None
    if (nothingSince.exists(nanoTime - _ > quietAfter)) MILLISECONDS.sleep(restMs)
    latest
  }

  override def latestOffset(): Offset = source.latestOffset()
  override def getDefaultReadLimit: ReadLimit = source.getDefaultReadLimit
  override def reportLatestOffset(): Offset = source.reportLatestOffset()
  override def prepareForTriggerAvailableNow(): Unit = source.prepareForTriggerAvailableNow()
  override def metrics(consumed: Optional[Offset]): JavaMap[String, String] = source.metrics(consumed)
  override def initialOffset(): Offset = source.initialOffset()
  override def deserializeOffset(json: String): Offset = source.deserializeOffset(json)
  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] =
    source.planInputPartitions(start, end)
  override def createReaderFactory(): PartitionReaderFactory = source.createReaderFactory()
  override def commit(end: Offset): Unit = source.commit(end)
  override def stop(): Unit = source.stop()
  override def toString: String = source.toString
}
