"""What each commit says of the program that made it: in `userMetadata`, which any reader of a table's history shows."""

import json

from deltalake import CommitProperties
from deltalake import Transaction as AppTransaction

from pipelines.code_version import fingerprint
from pipelines.io.delta.table_log import REPLACED, Transaction
from pipelines.io.delta.writer_term import TERM, term_at
from pipelines.running_command import running_command


def signature(path: str, transaction: Transaction | None = None, replaced_at: int | None = None) -> CommitProperties:
    """The properties of a commit to the table at a path: a JSON object with the command and the code by which it was
    written, and the row of the ledger that tells of it; its transaction, and the writer's term, if there are such; and
    with the version at which it puts files in place of others, the mark by which such commits conflict.
    """
    marks = [AppTransaction(transaction.app_id, transaction.version)] if transaction else []
    if (term := term_at(path)) is not None:
        marks.append(AppTransaction(TERM, term))
    if replaced_at is not None:
        marks.append(AppTransaction(REPLACED, replaced_at))
    told = {
        "command": running_command(),
        "code_version": fingerprint(),
        "batch_id": transaction.batch_id if transaction else None,
    }
    return CommitProperties(
        custom_metadata={"userMetadata": json.dumps(told)},
        app_transactions=marks or None,
    )
