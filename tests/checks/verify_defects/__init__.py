"""Defects to plant in a healthy lake: at least one for each check of `pts verify`, and what it must say of it."""

from tests.checks.verify_defects.of_gold import OF_REPORTS, OF_WINDOWS
from tests.checks.verify_defects.of_ledger import OF_THE_LEDGER
from tests.checks.verify_defects.of_records import IMPLIED, OF_RECORDS
from tests.checks.verify_defects.planting import Defect

DEFECTS = (*OF_THE_LEDGER, *OF_RECORDS, *OF_REPORTS, *OF_WINDOWS)

__all__ = ["DEFECTS", "IMPLIED", "Defect"]
