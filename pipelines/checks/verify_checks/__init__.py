"""What `pts verify` checks, from top to bottom."""

from pipelines.checks.verify_checks.check import Check, Stage
from pipelines.checks.verify_checks.ledger import LEDGER
from pipelines.checks.verify_checks.records import RECORDS
from pipelines.checks.verify_checks.reports import REPORTS
from pipelines.checks.verify_checks.windows import WINDOWS

STAGES = (LEDGER, RECORDS, REPORTS, WINDOWS)
CHECKS = tuple(check for stage in STAGES for check in stage.checks)

__all__ = ["CHECKS", "STAGES", "Check", "Stage"]
