"""One fault that somebody could make, and the test that must notice."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutation:
    """A rule broken in one place.

    Attributes:
        rule: What holds, in the words of docs/glossary.md and the contracts.
        broken: What the changed code does instead.
        path: The file, from the root of the repository.
        old: Text that occurs in it exactly once.
        new: What stands there instead.
        test: The node id of a test that fails then: the cheapest there is.
    """

    rule: str
    broken: str
    path: str
    old: str
    new: str
    test: str

    @property
    def name(self) -> str:
        return f"{self.rule}: {self.broken}"

    def applied(self, root: Path) -> str:
        """The text of the changed file.

        Raises `ValueError` when the old text is not there exactly once, or what comes out is no Python.
        """
        text = (root / self.path).read_text(encoding="utf-8")
        if (count := text.count(self.old)) != 1:
            raise ValueError(f"{self.path} has {count} times, not once: {self.old!r}")
        changed = text.replace(self.old, self.new)
        try:
            compile(changed, self.path, "exec")  # not `ast.parse`, which may fail in threads: CPython issue 106905
        except SyntaxError as error:
            raise ValueError(f"{self.path} is no Python with {self.new!r}: {error}") from error
        return changed
