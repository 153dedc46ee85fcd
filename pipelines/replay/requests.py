"""`pts requests`: the replays that are asked for on the topic pts-control, for Airflow to start."""

from typing import Any

from pydantic import ValidationError

from pipelines import commands
from pipelines.contracts.control import PTS_CONTROL, ReplayRequest
from pipelines.errors import printable, warn
from pipelines.io.kafka.admin import create_topics, topic_states
from pipelines.io.kafka.connection import Connection
from pipelines.io.kafka.consumer import messages
from pipelines.settings import Settings

MOST_CHARACTERS_OF_FAULTS = 300


def run(_command: commands.Requests, settings: Settings) -> list[ReplayRequest]:
    """All requests that the topic holds, oldest first, each name once: the first message of a name counts. Creates the
    topic where it is missing. Reads without a group, so it gives the same again.

    A message that is no request is named on standard error, and left out.

    Raises `BrokerUnavailable` when no broker answers.
    """
    connection = Connection.of(settings)
    if not topic_states(connection, [PTS_CONTROL.name]):
        create_topics(connection, [PTS_CONTROL], 1, settings.kafka.replication_factor)
        return []
    found: dict[str, ReplayRequest] = {}
    for message in messages(connection, PTS_CONTROL.name):
        try:
            request = ReplayRequest.model_validate_json(message.value or b"")
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
            place = f"{PTS_CONTROL.name}/{message.partition} offset {message.offset}"
            warn(f"{place} is no request: {printable(faults, MOST_CHARACTERS_OF_FAULTS)}.")
        else:
            found.setdefault(request.request_id, request)
    return list(found.values())


def as_run(request: ReplayRequest) -> dict[str, Any]:
    """The run of the DAG `replay`: Airflow has a run of a name once."""
    return {
        "trigger_run_id": f"control-{request.request_id}",
        "conf": request.model_dump(exclude={"request_id"}),
    }
