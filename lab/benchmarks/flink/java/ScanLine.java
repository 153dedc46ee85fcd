package superfastpts.benchmarks;

import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.LocalDate;

/** How the wire format of ship-events is read: one RFC 4180 line of eleven fields, in UTF-8. */
final class ScanLine {
  static final int FIELDS = 11;

  private ScanLine() {}

  /** All texts of a well-formed line, "" where a field is empty; null for any other line. */
  static String[] fields(byte[] line) {
    String[] fields = fields(line, FIELDS, true);
    if (fields != null) {
      for (String field : fields) {
        if (field.indexOf('\uFFFD') >= 0) {
          return null; // not UTF-8
        }
      }
    }
    return fields;
  }

  /** The first texts of a line; null if there are fewer, if there are more and it should be whole, or for wrong quotes. */
  static String[] fields(byte[] line, int count, boolean isWhole) {
    if (line == null) {
      return null;
    }
    String text = new String(line, StandardCharsets.UTF_8);
    boolean hasQuotes = text.indexOf('"') >= 0;
    int end = text.length();
    if (end > 0 && text.charAt(end - 1) == '\n') {
      end -= end > 1 && text.charAt(end - 2) == '\r' ? 2 : 1;
    }
    String[] fields = new String[count];
    int at = 0;
    for (int field = 0; field < count; field++) {
      if (at > end) {
        return null;
      }
      if (at < end && text.charAt(at) == '"') {
        int close = closingQuote(text, at + 1, end);
        if (close < 0 || (close + 1 < end && text.charAt(close + 1) != ',')) {
          return null;
        }
        fields[field] = text.substring(at + 1, close).replace("\"\"", "\"");
        at = close + 2;
      } else {
        int comma = text.indexOf(',', at);
        int stop = comma < 0 || comma > end ? end : comma;
        fields[field] = text.substring(at, stop);
        if (hasQuotes && fields[field].indexOf('"') >= 0) {
          return null;
        }
        at = stop + 1;
      }
    }
    return isWhole && at != end + 1 ? null : fields;
  }

  private static int closingQuote(String text, int from, int end) {
    for (int at = from; at < end; at++) {
      if (text.charAt(at) == '"') {
        if (at + 1 < end && text.charAt(at + 1) == '"') {
          at++;
        } else {
          return at;
        }
      }
    }
    return -1;
  }

  /** Milliseconds since the epoch of `yyyy-MM-dd(T| )HH:mm:ss[.f…][Z|±HH:mm]`; null for anything else. */
  static Long epochMillis(String text) {
    if (text.length() < 19 || text.charAt(4) != '-' || text.charAt(13) != ':' || text.charAt(16) != ':') {
      return null;
    }
    try {
      long day = LocalDate.of(number(text, 0, 4), number(text, 5, 7), number(text, 8, 10)).toEpochDay();
      int seconds = number(text, 11, 13) * 3600 + number(text, 14, 16) * 60 + number(text, 17, 19);
      int at = 19;
      int millis = 0;
      if (at < text.length() && text.charAt(at) == '.') {
        int weight = 100;
        for (at++; at < text.length() && Character.isDigit(text.charAt(at)); at++) {
          millis += (text.charAt(at) - '0') * weight;
          weight /= 10;
        }
      }
      String zone = text.substring(at);
      int offsetMinutes = 0;
      if (zone.length() == 6 && zone.charAt(3) == ':') {
        offsetMinutes = number(zone, 1, 3) * 60 + number(zone, 4, 6);
        offsetMinutes = zone.charAt(0) == '-' ? -offsetMinutes : offsetMinutes;
      } else if (!zone.isEmpty() && !zone.equals("Z")) {
        return null;
      }
      return (day * 86_400L + seconds - offsetMinutes * 60L) * 1000 + millis;
    } catch (DateTimeException | NumberFormatException e) {
      return null;
    }
  }

  private static int number(String text, int from, int to) {
    return Integer.parseInt(text, from, to, 10);
  }
}
