"""What a container becomes."""

import pytest

from infra.container import entry_point

EXECUTOR = {variable: f"the {name[2:]}" for name, variable in entry_point.ARGUMENTS.items()}


def test_executor_has_its_options_in_the_order_of_their_numbers() -> None:
    """Of two that contradict each other, Java takes the last."""
    told = EXECUTOR | {"SPARK_EXECUTOR_MEMORY": "1g"} | {f"SPARK_JAVA_OPT_{n}": f"-Dn={n}" for n in range(12)}
    command = entry_point.executor_command(told)
    assert [word for word in command if word.startswith("-Dn=")] == [f"-Dn={n}" for n in range(12)]
    assert command[command.index("--podName") + 1] == "the podName"


def test_variable_that_is_missing_is_named() -> None:
    with pytest.raises(KeyError, match="SPARK_DRIVER_URL"):
        entry_point.executor_command({"SPARK_EXECUTOR_MEMORY": "1g"})
