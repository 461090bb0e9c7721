"""Reports to systemd that the plane serves or ends, if systemd started it as a service of `Type=notify`."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

READY, STOPPING = "READY=1", "STOPPING=1"


def report(state: str) -> None:
    """Does nothing where nobody asked for it. A supervisor that does not listen is no reason to end."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as sending:
        # A name that starts with @ is one without a file.
        sending.connect(address.replace("@", "\0", 1) if address.startswith("@") else address)
        sending.send(state.encode())
