package superfastpts.benchmarks;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalTime;

/** How the wire format is read: one RFC 4180 line in UTF-8, of eleven fields in ship-events. */
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
    String text = text(line);
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
      int seconds = LocalTime.of(number(text, 11, 13), number(text, 14, 16), number(text, 17, 19)).toSecondOfDay();
      int at = 19;
      int millis = 0;
      if (at < text.length() && text.charAt(at) == '.') {
        int weight = 100;
        for (at++; at < text.length() && at < 29 && Character.isDigit(text.charAt(at)); at++) {
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

  /** An optional sign and digits; null for anything else, and for what overflows. */
  static Long integer(String text) {
    for (int at = 0; at < text.length(); at++) {
      if (text.charAt(at) > '9') {
        return null; // a digit of another script
      }
    }
    try {
      return Long.parseLong(text);
    } catch (NumberFormatException e) {
      return null;
    }
  }

  static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  static boolean isKeyOf(byte[] key, long trackingNumber) {
    return key != null && text(key).equals(Long.toString(trackingNumber));
  }

  static boolean isUtf8(byte[] bytes) {
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
      return true;
    } catch (CharacterCodingException e) {
      return false;
    }
  }

  private static int number(String text, int from, int to) {
    return Integer.parseInt(text, from, to, 10);
  }
}
