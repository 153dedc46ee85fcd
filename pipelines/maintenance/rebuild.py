"""`pts rebuild`: gold tables rebuilt from silver, as they stand at the end of the ledger."""

from pipelines.commands import Rebuild, Stream
from pipelines.errors import InvalidInput
from pipelines.graph import FLOWS
from pipelines.live.live_job import LiveJob
from pipelines.live.topics import check_topics
from pipelines.maintenance.common import existing_lake
from pipelines.maintenance.sole_writer import sole_writer
from pipelines.settings import Settings


def run(command: Rebuild, settings: Settings) -> None:
    """Replaces each table's rows in one commit, and those of tables that are made from it. A live job waits meanwhile.

    What `pts expire` has removed is in them again, and in no archive any more.

    If the live job was cut off within a batch, that batch is completed first, and with it all that the log holds.

    Raises:
        InvalidInput: Not a gold table.
        NotFound: The lake has no batch yet.
        LakeMismatch: Another table is not what the ledger says.
        AnotherWriter: Another command holds the lake, or the live job does not hand it over.
    """
    gold = [flow.into.name for flow in FLOWS if flow.is_fold]
    if unknown := [name for name in command.tables if name not in gold]:
        raise InvalidInput(f"{', '.join(unknown)} cannot be made from silver. These can: {', '.join(gold)}.")
    with sole_writer(settings, "rebuild") as spark:
        runner = existing_lake(spark, settings)
        if runner.prepare(command.tables):
            check_topics(settings)
            LiveJob(runner, settings).run(Stream(drain=True), command.tables)
