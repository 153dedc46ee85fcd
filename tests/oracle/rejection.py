"""How a record is refused: an error that names the reason."""


class RejectedError(Exception):
    """The record belongs in quarantine."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
