"""Who changed a table: this program's own commits are found by their transactions, those of others are refused."""

from collections.abc import Mapping

from pipelines.errors import LakeMismatch
from pipelines.io.delta import delta_rs, writer_term
from pipelines.io.delta.catalog import Catalog, remedy
from pipelines.io.delta.table_log import Change, Transaction
from pipelines.tables import Table


class CommitWatch:
    """The commits to tables: between two of its own to a table, a program accepts only those that change no row, such
    as a compaction's.

    Attributes:
        versions: By table name, the version up to which commits are known to be in order; the newest, where not given.
    """

    def __init__(self, catalog: Catalog, versions: Mapping[str, int] | None = None) -> None:
        self.versions = dict(versions or {})
        self._catalog = catalog

    def version(self, table: Table) -> int:
        """The newest version, by a look at what came since the last one known.

        Raises `LakeMismatch` when another program changed rows since, and `AnotherWriter` when it has the lease of this
        process.
        """
        return self._seen(table, None)[0]

    def by(self, table: Table, transaction: Transaction) -> Change | None:
        """The commit that carries the transaction; None if none does yet.

        Raises `LakeMismatch` as `version`.
        """
        if not delta_rs.has(self._catalog.newest(table), transaction):
            self.version(table)
            return None
        return self.of(table, transaction)

    def _seen(self, table: Table, own: Transaction | None) -> tuple[int, Change | None]:
        """Takes note of the table's new commits: the newest version, and the commit by the own transaction."""
        log = self._catalog.log(table)
        if table.name not in self.versions:
            self.versions[table.name] = log.newest_version()
        found = None
        for version, change in log.commits(self.versions[table.name]):
            if change and own and change.transaction == own:
                found = change
            elif change:
                writer_term.check(self._catalog.newest(table), self._catalog.path(table))
                raise LakeMismatch(
                    f"Table {table.name} was changed while the job ran: {change.description}. Only the job changes it. "
                    + remedy(table)
                )
            self.versions[table.name] = version
        return self.versions[table.name], found

    def of(self, table: Table, transaction: Transaction) -> Change:
        """The commit that carries the transaction: a new one, unless the write was a repeat."""
        log = self._catalog.log(table)
        version, found = self._seen(table, transaction)
        while not found:
            try:
                change = log.change(version)
            except FileNotFoundError:
                raise LakeMismatch(
                    f"Table {table.name} accepted a write under {transaction.app_id!r} {transaction.version} but no "
                    "commit in its log carries it: that batch was written before, and its commit is gone."
                ) from None
            found = change if change and change.transaction == transaction else None
            version -= 1
        return found
