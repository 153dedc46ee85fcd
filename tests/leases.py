"""The writer lease of a lake, held by a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from pipelines.state.writer_lease import WriterLease


@contextmanager
def writer_lease(lake_root: str) -> Iterator[WriterLease]:
    """Holds the lease. Raises as `WriterLease.acquire`."""
    lease = WriterLease(lake_root)
    lease.acquire()
    try:
        with lease.explaining():
            yield lease
    finally:
        lease.release()
