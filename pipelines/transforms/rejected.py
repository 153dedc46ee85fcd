"""Which records go to quarantine, and why?"""

from pipelines.tables import SILVER_QUARANTINE

REJECTED = f"SELECT {', '.join(SILVER_QUARANTINE.column_names)} FROM records WHERE reason IS NOT NULL"
"""One row per record that has a reason, with its bytes.

- `records`: judged records of either topic.
"""
