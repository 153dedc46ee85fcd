"""What a command may say that ends with an error."""

import pytest

from lab.faults.scene import complaints, sentence

FULL = "pts: The disk is full."
A_BATCH = '{"batch_id": 7}'
A_WARNING = "pts: warning: The job waits for process 7."
OF_DELTA_RS = """
thread 'tokio-rt-worker' (3275) panicked at /somewhere/object_store-0.13.2/src/buffered.rs:369:41:
Already shut down
stack backtrace:
note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.
"""


@pytest.mark.parametrize("before", ["", A_BATCH, A_WARNING, OF_DELTA_RS])
def test_error_is_one_sentence_after_results_and_warnings(before: str) -> None:
    assert sentence(f"{before}\n{FULL}\n") == FULL
    assert not complaints(before)


@pytest.mark.parametrize(
    "said",
    ["", A_BATCH, f"{FULL}\n{FULL}", f"2026-11-25 ERROR Executor: no\n{FULL}", f"{FULL}\nat java.lang.Thread.run"],
)
def test_anything_else_beside_the_sentence_is_noticed(said: str) -> None:
    with pytest.raises(AssertionError):
        sentence(said)
