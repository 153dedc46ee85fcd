"""Those who watch the live job, as the settings ask for them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from pipelines.io.kafka.connection import Connection
from pipelines.observability.lag_group import LagGroup
from pipelines.settings import Settings


@contextmanager
def observers(settings: Settings) -> Iterator[tuple[LagGroup, ...]]:
    """Observers of the live job, for as long as the block lasts."""
    with ExitStack() as stack:
        group = settings.kafka.lag_group
        yield (stack.enter_context(LagGroup(Connection.of(settings), group)),) if group else ()
