package superfastpts.benchmarks;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.functions.ScalarFunction;

/**
 * The time of a line, for the watermark. The epoch, if there is none, or one that the contract refuses because it is more
 * than 10 minutes after its record's time or more than 7 days before it: such a time must not move the watermark.
 */
public final class OccurredAt extends ScalarFunction {
  static final long FUTURE_MILLIS = 10 * 60_000L;
  static final long LATE_MILLIS = 7 * 86_400_000L;
  private static final TimestampData EPOCH = TimestampData.fromEpochMillis(0);

  public @DataTypeHint(value = "TIMESTAMP(3)", bridgedTo = TimestampData.class) TimestampData eval(
      @DataTypeHint("BYTES") byte[] line,
      @DataTypeHint(value = "TIMESTAMP_LTZ(3)", bridgedTo = TimestampData.class) TimestampData appendedAt) {
    String[] fields = ScanLine.fields(line, 2, false);
    Long millis = fields == null ? null : ScanLine.epochMillis(fields[1]);
    if (millis == null
        || millis > appendedAt.getMillisecond() + FUTURE_MILLIS
        || millis < appendedAt.getMillisecond() - LATE_MILLIS) {
      return EPOCH;
    }
    return TimestampData.fromEpochMillis(millis);
  }
}
