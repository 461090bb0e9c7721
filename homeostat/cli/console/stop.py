"""Graceful shutdown of a running server: the first signal requests it, a second one exits at once.

It says so on standard error, so that nobody waits without knowing what for.

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
from contextlib import suppress

import click

from homeostat.cli.console.failure import print_error

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_SAME_WITHIN_S = 0.5


class Stop:
    """Set by the first signal; the server waits for it. `what` is what stops, for people."""

    def __init__(self, what: str, *, within_s: float) -> None:
        self._what, self._within_s = what, within_s
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
        timer = threading.Timer(self._within_s, self._give_up)
        timer.daemon = True
        timer.start()
        again = "Ctrl-C again" if number == signal.SIGINT else "a second signal"
        _say(f"Stopping {self._what} ... ({again} exits at once)")

    def report_end(self) -> None:
        if self._asked.is_set():
            _say(f"Stopped {self._what}")

    def _give_up(self) -> None:
        with suppress(OSError):
            print_error(f"stopping {self._what} took longer than {self._within_s:g} s; exited all the same")
        os._exit(1)


def _say(text: str) -> None:
    """Also to a terminal that is gone."""
    with suppress(OSError):
        click.echo(text, err=True)
