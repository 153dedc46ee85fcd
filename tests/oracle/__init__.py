"""The oracle: every table's rows computed in plain Python from the records of the log.

It shares no code with the pipeline, so that a fault has to be made twice, in two languages, to go unseen.
"""

from tests.oracle.records import LogRecord
from tests.oracle.tables import expected_tables

__all__ = ["LogRecord", "expected_tables"]
