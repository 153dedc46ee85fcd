package superfastpts.benchmarks;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.TimestampData;
import org.apache.flink.table.functions.ScalarFunction;

/** The fields of a line of ship-events but for its time, typed, or the first reason for which it breaks the contract. */
public final class JudgedScan extends ScalarFunction {
  private static final int[] REQUIRED = {0, 1, 2, 10};

  public @DataTypeHint(
      value =
          "ROW<reason STRING, tracking_number BIGINT, event_code STRING, status_code STRING, "
              + "status_description STRING, carrier_code STRING, country STRING, state STRING, city STRING, "
              + "postal_code STRING, current_stop_id BIGINT>",
      bridgedTo = RowData.class) RowData eval(
      @DataTypeHint("BYTES") byte[] key,
      @DataTypeHint("BYTES") byte[] line,
      @DataTypeHint(value = "TIMESTAMP_LTZ(3)", bridgedTo = TimestampData.class) TimestampData appendedAt) {
    GenericRowData row = new GenericRowData(11);
    String reason = fill(row, key, line, appendedAt.getMillisecond());
    row.setField(0, reason == null ? null : StringData.fromString(reason));
    return row;
  }

  private static String fill(GenericRowData row, byte[] key, byte[] line, long appendedAt) {
    if (line == null || line.length == 0) {
      return "empty";
    }
    String[] fields = ScanLine.fields(line);
    if (fields == null) {
      return ScanLine.isUtf8(line) ? "malformed" : "not_utf8";
    }
    for (int at : REQUIRED) {
      if (fields[at].isEmpty()) {
        return "missing_field";
      }
    }
    Long trackingNumber = ScanLine.integer(fields[0]);
    Long stop = ScanLine.integer(fields[10]);
    Long occurredAt = ScanLine.epochMillis(fields[1]);
    if (trackingNumber == null || stop == null || occurredAt == null) {
      return "bad_type";
    }
    if (trackingNumber <= 0 || stop < 0) {
      return "out_of_range";
    }
    if (!ScanLine.isKeyOf(key, trackingNumber)) {
      return "key_mismatch";
    }
    if (occurredAt > appendedAt + OccurredAt.FUTURE_MILLIS) {
      return "from_the_future";
    }
    if (occurredAt < appendedAt - OccurredAt.LATE_MILLIS) {
      return "too_late";
    }
    row.setField(1, trackingNumber);
    for (int at = 2; at < 10; at++) {
      row.setField(at, fields[at].isEmpty() ? null : StringData.fromString(fields[at]));
    }
    row.setField(10, stop);
    return null;
  }
}
