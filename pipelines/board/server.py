"""`pts board`: the server, until it is asked to stop."""

from pipelines import commands
from pipelines.board.app import create_app
from pipelines.board.now import Lags
from pipelines.errors import BoardUnavailable
from pipelines.processes.signals import signals_ask_to_stop
from pipelines.settings import Settings
from pipelines.web.server import Server, listener


def run(_command: commands.Board, settings: Settings) -> None:
    """Serves until SIGTERM or Ctrl-C. Raises `BoardUnavailable` when the port is taken."""
    board, lags = settings.board, Lags(settings.lake_root)
    with (
        listener(board.host, board.port, BoardUnavailable, "PTS_BOARD__") as socket,
        signals_ask_to_stop() as stop,
        lags.followed(),
    ):
        Server(create_app(settings, lags), stop).run(sockets=[socket])
