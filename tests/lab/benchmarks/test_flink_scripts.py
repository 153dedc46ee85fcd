"""Flink's scripts are taken apart at blank lines (`SqlRunner.java`): each part must be a whole statement."""

import re
from pathlib import Path
from typing import get_args

import pytest

from lab.benchmarks.flink.peer import Script, script_text


@pytest.mark.parametrize("name", get_args(Script))
def test_every_part_of_a_script_is_a_whole_statement(name: Script) -> None:
    text = re.sub(r"(?m)^--.*$", "", script_text(name, "127.0.0.1:9092", Path("/runs/one")))
    parts = [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]
    assert len(parts) > 3
    for part in parts:
        assert part.endswith(";"), part
        assert part.count("(") == part.count(")")
