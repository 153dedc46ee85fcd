"""Lakes as earlier commits wrote them, each with the log it was made from: what a newer commit must open, or refuse.

    git worktree add ../earlier 8dc7edc
    python -m tests.golden ../earlier tests/golden/8dc7edc.tar.gz

    git worktree add ../earlier e581be8
    python -m tests.golden ../earlier tests/golden/e581be8-killed.tar.gz --killed

makes one by that commit's own `pts`, on a broker of its own; or one whose job was killed between two tables of a batch.
An archive holds `lake/` and `log.json`. It is kept as it is for ever: what is rebuilt by newer code is no witness.
"""
