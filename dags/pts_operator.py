"""The operator of all DAGs: one `pts` command."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.definitions.context import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
from pydantic import ValidationError

from dags.pages import link
from pipelines import errors
from pipelines.commands import Command
from pipelines.processes.parent_death import PATIENCE_SECONDS, end_with_parent, ended_with_parent
from pipelines.processes.pid_lock import remove
from pipelines.settings import load_settings

CURED_BY_A_PERSON = (
    errors.InvalidInput,
    errors.SetupIncomplete,
    errors.TopicMismatch,
    errors.LogTruncated,
    errors.LakeMismatch,
    errors.Violation,
    errors.UndeclaredDifference,
    errors.NotCompared,
    errors.ExpectationFailed,
    errors.AccessRefused,
    errors.MessagesRejected,
)
"""Failures that a retry would not mend."""


def pts() -> list[str]:
    """How each command line begins: with the Python that a setting names, or Airflow's."""
    return [str(load_settings().airflow.python or sys.executable), "-P", "-m", "pipelines.cli"]


class PageLink(BaseOperatorLink):
    """On the task's page: the page that its command wrote, also when it failed."""

    name = "Page"

    def get_link(self, operator: BaseOperator, *, ti_key: Any) -> str:
        return operator.page if isinstance(operator, PtsOperator) else ""


class PtsOperator(BaseOperator):
    """Runs a `pts` command and gives its JSON line to XCom. What it says on the way is in the task's log.

    Any end is safe: the command ends when the task is stopped or its worker dies, and a retry first ends what an
    earlier try may have left (`pipelines/processes/parent_death.py`). Then it begins where the tables are.

    Fails with the command's own sentence: at once where only a person can help, else after the retries. Then
    its code is in XCom, as `exit_code`.

    Args:
        command: Which command.
        parameters: The command's parameters, templates allowed. They are checked when the task runs.
        only_if: A template; where it says False the task is skipped, and what comes after it.
    """

    template_fields: Sequence[str] = ("parameters", "only_if")
    operator_extra_links = (PageLink(),)

    def __init__(
        self,
        *,
        command: type[Command],
        parameters: Mapping[str, Any] | None = None,
        only_if: str | bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.command = command
        self.parameters = dict(parameters or {})
        self.only_if = only_if
        self.page = ""
        self.exit_code = 0
        self._process: subprocess.Popen[str] | None = None

    def execute(self, context: Context) -> Any:
        if not self.only_if:
            raise AirflowSkipException("Not asked for.")
        try:
            argv = self.command(**self.parameters).argv()
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
            raise AirflowFailException(f"pts {self.command.__name__}: {faults}") from None
        ti = context["ti"]
        name = f"{ti.dag_id}.{ti.run_id}.{ti.task_id}.{ti.map_index}.pid"
        settings = load_settings()
        said, failure = self._run([*argv, "--json"], settings.home.resolve() / "run" / "tasks" / name)
        if isinstance(said, dict) and said.get("page"):
            said["page"] = self.page = link(said["page"], settings)
        if failure:
            ti.xcom_push("exit_code", self.exit_code)
            if said is not None:
                ti.xcom_push("return_value", said)
            raise failure
        return said

    def on_kill(self) -> None:
        if self._process:
            self._process.terminate()

    def _run(self, argv: list[str], pid_file: Path) -> tuple[Any, AirflowException | None]:
        """What the command said, and why it failed, if it did."""
        end_with_parent()  # the worker: it does not take this process with it when it is killed
        self.log.info("pts %s", errors.printable(" ".join(argv), errors.MOST_CHARACTERS))
        last_words = "It said nothing."
        with TemporaryFile("w+", encoding="utf-8") as out:
            self._process = subprocess.Popen(
                ended_with_parent(pid_file, [*pts(), *argv]),
                stdout=out,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
            try:
                assert self._process.stderr is not None
                for line in map(str.rstrip, self._process.stderr):
                    self.log.info("%s", errors.log_text(line))
                    if line.startswith("pts: ") and not line.startswith("pts: warning: "):
                        last_words = line.removeprefix("pts: ")
                code = self._process.wait()
            finally:
                self._end()
                remove(pid_file)
            out.seek(0)
            said = [line for line in out.read().splitlines() if line]
        for line in said:
            self.log.info("%s", errors.printable(line, errors.MOST_CHARACTERS))
        self.exit_code = code
        if code:
            return _parsed(said), _failure(argv, code, last_words)
        return _parsed(said), None

    def _end(self) -> None:
        """Nothing when it ended by itself; here it did not when the task's time is up."""
        process = self._process
        if process and process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(PATIENCE_SECONDS)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what it started
            process.wait()


def _parsed(said: list[str]) -> Any:
    """The last line, if it is JSON: a command that fails need not come so far."""
    try:
        return json.loads(said[-1]) if said else None
    except ValueError:
        return None


def _failure(argv: list[str], code: int, last_words: str) -> AirflowException:
    is_final = code in {error.exit_code for error in CURED_BY_A_PERSON}
    how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
    return (AirflowFailException if is_final else AirflowException)(f"pts {argv[0]} {how}: {last_words}")
