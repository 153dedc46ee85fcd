"""Units of simulated time, whole numbers since the Unix epoch, UTC.

Things happen in microseconds, as the tables tell them apart; records are sent in milliseconds, as Kafka keeps them.
"""

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

SECOND_MS = 1_000
MINUTE_MS = 60 * SECOND_MS
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
