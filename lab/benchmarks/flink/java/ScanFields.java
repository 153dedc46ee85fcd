package superfastpts.benchmarks;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.ScalarFunction;

/** The fields of a line but for its time, typed; null for a line that breaks the contract. */
public final class ScanFields extends ScalarFunction {
  public @DataTypeHint(
      value =
          "ROW<tracking_number BIGINT, event_code STRING, status_code STRING, status_description STRING, "
              + "carrier_code STRING, country STRING, state STRING, city STRING, postal_code STRING, "
              + "current_stop_id BIGINT>",
      bridgedTo = RowData.class) RowData eval(@DataTypeHint("BYTES") byte[] line) {
    String[] fields = ScanLine.fields(line);
    if (fields == null || fields[2].isEmpty()) {
      return null;
    }
    Long trackingNumber = ScanLine.integer(fields[0]);
    Long stop = ScanLine.integer(fields[10]);
    if (trackingNumber == null || trackingNumber <= 0 || stop == null || stop < 0) {
      return null;
    }
    GenericRowData row = new GenericRowData(10);
    row.setField(0, trackingNumber);
    for (int at = 2; at < 10; at++) {
      row.setField(at - 1, fields[at].isEmpty() ? null : StringData.fromString(fields[at]));
    }
    row.setField(9, stop);
    return row;
  }
}
