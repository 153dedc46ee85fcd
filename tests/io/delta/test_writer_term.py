"""Two processes that write a lake in a store, of which the first was frozen while it had the lease."""

from collections.abc import Callable
from contextlib import closing

import pytest

from pipelines.errors import AnotherWriter
from pipelines.io.delta import delta_rs, duck, files, writer_term
from pipelines.io.delta.lake import Lake
from pipelines.io.delta.table_log import Transaction
from tests.io.delta.test_lake import COLOURS, rows

pytestmark = pytest.mark.slow


class Process:
    """What one process knows of the lake, and the term that it has begun."""

    def __init__(self, root: str) -> None:
        self.lake = Lake(None, root)
        self._terms: dict[str, int] = {}

    def takes_the_lease(self) -> None:
        self._does(lambda: self.lake.begin_term([COLOURS]))

    def looks(self) -> None:
        self.lake.newest(COLOURS)

    def merges(self, number: int) -> None:
        with closing(duck.cursor()) as cursor:
            write = Transaction("job/colours", number)
            self._does(lambda: self.lake.merge(cursor, rows((number, "red")), COLOURS, write))

    def watches(self) -> None:
        self._does(lambda: self.lake.commits.version(COLOURS))

    def restores(self, version: int) -> None:
        write = Transaction("promotion/colours", version)
        self._does(lambda: delta_rs.restore(self.lake.path(COLOURS), version, write))

    def _does(self, work: Callable[[], object]) -> None:
        writer_term._terms.clear()
        writer_term._terms.update(self._terms)
        try:
            work()
        finally:
            self._terms = dict(writer_term._terms)


@pytest.fixture
def processes(bucket: str) -> tuple[Process, Process]:
    Lake(None, f"{bucket}/lake").ensure(COLOURS)
    first, second = Process(f"{bucket}/lake"), Process(f"{bucket}/lake")
    first.takes_the_lease()
    first.merges(1)
    return first, second


def ids(process: Process) -> list[int]:
    with closing(duck.cursor()) as cursor:
        return [row[0] for row in cursor.execute(f"{process.lake.rows(COLOURS)} ORDER BY id").fetchall()]


def test_process_that_was_overtaken_commits_nothing_more(processes: tuple[Process, Process]) -> None:
    first, second = processes
    second.takes_the_lease()
    with pytest.raises(AnotherWriter, match=r"term 2 after 1"):
        first.merges(2)
    with pytest.raises(AnotherWriter, match=r"term 2 after 1"):
        first.restores(0)
    second.merges(3)
    assert ids(second) == [1, 3]


def test_change_by_the_one_that_overtook_is_not_taken_for_a_stranger_s(processes: tuple[Process, Process]) -> None:
    first, second = processes
    second.takes_the_lease()
    second.merges(3)
    with pytest.raises(AnotherWriter, match=r"term 2 after 1"):
        first.watches()


def test_commit_on_a_table_as_it_was_before_the_new_term_is_refused_by_delta(
    processes: tuple[Process, Process], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = processes
    first.looks()
    stale = first.lake._tables._opened[first.lake.path(COLOURS)]
    second.takes_the_lease()
    with monkeypatch.context() as patched:
        patched.setattr(first.lake, "newest", lambda _: stale)  # frozen between its look and its commit
        with pytest.raises(AnotherWriter, match=r"term 2 after 1"):
            first.merges(2)
    assert ids(second) == [1]


def test_commits_of_compaction_are_of_no_term_and_stop_nobody(processes: tuple[Process, Process]) -> None:
    first, _ = processes
    for number in range(2, 2 + files.MANY_SMALL):
        first.merges(number)
    writer_term._terms.clear()
    files.join(first.lake.path(COLOURS), COLOURS)
    first.merges(20)
    assert ids(first) == [*range(1, 2 + files.MANY_SMALL), 20]


def test_terms_change_nothing_that_a_table_s_log_tells(processes: tuple[Process, Process]) -> None:
    first, second = processes
    before = list(first.lake.log(COLOURS).changes(after=0))
    second.takes_the_lease()
    assert list(second.lake.log(COLOURS).changes(after=0)) == before
    assert [change.transaction for change in before] == [Transaction("job/colours", 1)]
    assert second.lake.commits.version(COLOURS) == second.lake.newest(COLOURS).version()


def test_folder_has_no_terms(tmp_path_factory: pytest.TempPathFactory) -> None:
    alone = Process(str(tmp_path_factory.mktemp("lake")))
    alone.lake.ensure(COLOURS)
    alone.takes_the_lease()
    assert alone.lake.newest(COLOURS).version() == 0
