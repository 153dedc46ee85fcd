"""Every rule broken on purpose, and the test that must notice: see `lab/mutations/__main__.py`."""

from lab.mutations import (
    of_batches,
    of_compaction,
    of_history,
    of_messages,
    of_records,
    of_reports,
    of_sealing,
    of_stores,
    of_the_api,
    of_the_job,
    of_windows,
)
from lab.mutations.mutation import Mutation

MUTATIONS: tuple[Mutation, ...] = (
    *of_records.MUTATIONS,
    *of_messages.MUTATIONS,
    *of_reports.MUTATIONS,
    *of_windows.MUTATIONS,
    *of_batches.MUTATIONS,
    *of_the_job.MUTATIONS,
    *of_history.MUTATIONS,
    *of_compaction.MUTATIONS,
    *of_sealing.MUTATIONS,
    *of_stores.MUTATIONS,
    *of_the_api.MUTATIONS,
)

__all__ = ["MUTATIONS", "Mutation"]
