"""Laboratories: faults on the real stack, benchmarks against peers, mutations of the rules. No tests; `make help`."""
