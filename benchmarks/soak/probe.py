"""Asks `/readyz` again and again, on a connection and in a thread of its own, and samples the memory of the server."""

from __future__ import annotations

import socket
import threading
import time
from typing import NamedTuple

from benchmarks.target import Target
from benchmarks.usage import rss_mib

_EVERY_S = 0.05
_PATIENCE_S = 60.0


class Sample(NamedTuple):
    at: float
    ms: float


class Probe:
    """A context manager. `failures` counts answers that were not 200, and connections that were lost."""

    def __init__(self, target: Target, pid: int) -> None:
        self._target, self._pid = target, pid
        self.samples: list[Sample] = []
        self.memory: list[tuple[float, float]] = []
        self.failures = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="probe", daemon=True)

    def __enter__(self) -> Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        connection = self._connect()
        request = self._target.request("GET", "/readyz")
        while not self._stop.wait(_EVERY_S):
            began = time.monotonic()
            try:
                connection.sendall(request)
                is_well = connection.recv(4096).startswith(b"HTTP/1.1 200")
            except OSError:
                is_well = False
                connection.close()
                connection = self._connect()
            self.failures += not is_well
            self.samples.append(Sample(began, (time.monotonic() - began) * 1000))
            self.memory.append((began, rss_mib(self._pid)))
        connection.close()

    def _connect(self) -> socket.socket:
        raw = socket.create_connection((self._target.host, self._target.port), timeout=_PATIENCE_S)
        context = self._target.context()
        return raw if context is None else context.wrap_socket(raw, server_hostname=self._target.host)
