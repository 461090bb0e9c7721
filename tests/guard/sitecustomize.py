"""Refuses to bind a port that a command of ours takes by default.

Two test runs, or a plane that a developer has running, would meet there, and a test would pass or fail by chance. The
tests' own process imports this module, and the processes it starts do because this folder is on their PYTHONPATH.
"""

from __future__ import annotations

import sys

# Every Python process that a test starts imports this: no module more than sys.
DEFAULT_PORTS = frozenset({7443, 8000, 8081, 8443, 8484, 8585})


class DefaultPortError(BaseException):
    """Not an `Exception`: code that goes on without a port that is taken must not hide it."""


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    if event != "socket.bind":
        return
    match arguments[1]:
        case (str(host), int(port), *_) if port in DEFAULT_PORTS:
            raise DefaultPortError(f"{host}:{port} is a default port; tests pass a free one, or 0")
        case _:
            pass


sys.addaudithook(_refuse)
