"""Lakes as earlier commits wrote them, each with the log it was made from: what a newer commit must open, or refuse.

    git worktree add ../earlier 8dc7edc
    python -m tests.golden ../earlier tests/golden/8dc7edc.tar.gz

makes one by that commit's own `pts`, on a broker of its own. An archive holds `lake/` and `log.json`. It is kept as it
is for ever: what is made anew by newer code is no witness.
"""
