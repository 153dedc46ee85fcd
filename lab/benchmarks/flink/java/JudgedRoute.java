package superfastpts.benchmarks;

import org.apache.flink.table.annotation.DataTypeHint;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.functions.ScalarFunction;

/** A record of ship-routes, typed, or the first reason for which it breaks the contract. Without a value: a withdrawal. */
public final class JudgedRoute extends ScalarFunction {
  public @DataTypeHint(
      value =
          "ROW<reason STRING, tracking_number BIGINT, route_id BIGINT, end_stop_id BIGINT, is_withdrawn BOOLEAN>",
      bridgedTo = RowData.class) RowData eval(@DataTypeHint("BYTES") byte[] key, @DataTypeHint("BYTES") byte[] value) {
    GenericRowData row = new GenericRowData(5);
    row.setField(4, value == null);
    String reason = value == null ? withdraw(row, key) : fill(row, key, value);
    row.setField(0, reason == null ? null : StringData.fromString(reason));
    return row;
  }

  private static String withdraw(GenericRowData row, byte[] key) {
    Long trackingNumber = key == null ? null : ScanLine.integer(ScanLine.text(key));
    if (trackingNumber == null || trackingNumber <= 0 || !ScanLine.isKeyOf(key, trackingNumber)) {
      return "key_mismatch";
    }
    row.setField(1, trackingNumber);
    return null;
  }

  private static String fill(GenericRowData row, byte[] key, byte[] value) {
    if (value.length == 0) {
      return "empty";
    }
    String[] fields = ScanLine.fields(value, 3, true);
    if (!ScanLine.isUtf8(value)) {
      return "not_utf8";
    }
    if (fields == null) {
      return "malformed";
    }
    if (fields[0].isEmpty() || fields[1].isEmpty() || fields[2].isEmpty()) {
      return "missing_field";
    }
    Long routeId = ScanLine.integer(fields[0]);
    Long trackingNumber = ScanLine.integer(fields[1]);
    Long endStop = ScanLine.integer(fields[2]);
    if (routeId == null || trackingNumber == null || endStop == null) {
      return "bad_type";
    }
    if (trackingNumber <= 0 || endStop < 0) {
      return "out_of_range";
    }
    if (!ScanLine.isKeyOf(key, trackingNumber)) {
      return "key_mismatch";
    }
    row.setField(1, trackingNumber);
    row.setField(2, routeId);
    row.setField(3, endStop);
    return null;
  }
}
