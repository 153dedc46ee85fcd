"""Replaying the log with proof: plan, build, compare, promote, roll back. See docs/runbook.md, 'Correcting history'."""
