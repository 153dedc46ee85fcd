"""The term of a lake's writer, in the logs of its tables, where the lake is in an object store.

A lease does not keep a process from writing that was frozen while it had it. So whoever takes a lease begins a term: a
commit to each table with the number of the term, as a transaction of Delta's. Every commit of the term carries it, too.
One of an older term is refused: where it has not seen the newer one, by Delta, because two commits with the same
transaction conflict; and where it has, because the number is greater than its own.

In a folder the kernel keeps the lock for as long as the process lives, and there are no terms.
"""

from deltalake import DeltaTable

from pipelines.errors import AnotherWriter

TERM = "writer-term"
"""The app id of the transaction."""

_terms: dict[str, int] = {}


def newest_term(table: DeltaTable) -> int:
    """The newest term of a table; 0 before the first."""
    return table.transaction_version(TERM) or 0


def enter(root: str, term: int) -> None:
    """From here on, this process's commits below the root are of this term."""
    _terms[root] = term


def term_at(path: str) -> int | None:
    """The term in which this process commits to a table, `<root>/<schema>/<name>`; None in a folder, and where it has
    none.
    """
    return _terms.get(path.rpartition("/")[0].rpartition("/")[0])


def check(table: DeltaTable, path: str) -> None:
    """Raises `AnotherWriter` when another process has begun a term since, as the table's log says."""
    own = term_at(path)
    if own is not None and (newest := newest_term(table)) > own:
        raise AnotherWriter(
            f"Another process writes the lake since this one's lease ran out (term {newest} after {own}), as the log "
            f"of {path} says. Nothing more was changed here."
        )
