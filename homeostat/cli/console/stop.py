"""Graceful shutdown of a running server: the first signal requests it, a second one exits at once.

Launchers (uvx, timeout) forward a signal that the process got from the terminal or its group as well, so the same
signal within half a second is the same request. The process exits within a limit even if something hangs:
acknowledged writes are on disk already.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SAME_WITHIN_S = 0.5


class Stop:
    """Set by the first signal; the server waits for it."""

    def __init__(self, *, within_s: float) -> None:
        self._within_s = within_s
        self._asked = asyncio.Event()
        self._first = (0, 0.0)

    def listen(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_signal, number)

    async def wait(self) -> None:
        await self._asked.wait()

    def _on_signal(self, number: int) -> None:
        if self._asked.is_set():
            first, at = self._first
            if number == first and time.monotonic() - at < _SAME_WITHIN_S:
                return
            os._exit(128 + number)
        self._first = (number, time.monotonic())
        self._asked.set()
        # A thread, because the loop itself may hang.
        timer = threading.Timer(self._within_s, os._exit, (1,))
        timer.daemon = True
        timer.start()
