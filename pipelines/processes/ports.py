"""TCP ports of this machine."""

import socket


def is_open(port: int) -> bool:
    """Whether a server takes connections there, on the loopback interface."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def why_unusable(port: int, host: str = "127.0.0.1") -> str | None:
    """Why a server could not listen there, in the system's words; None where it could."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        # As servers bind: connections of a former one that still linger are no obstacle.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            return error.strerror or str(error)
    return None
