"""CPU and memory of processes, as Linux counts them under /proc."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_PROC = Path("/proc")


class Usage(NamedTuple):
    """Seconds since some beginning; two of them make a difference."""

    at: float
    server: float
    own: float
    machine: float

    def __sub__(self, earlier: Usage) -> Usage:
        return Usage(*(now - then for now, then in zip(self, earlier, strict=True)))

    @property
    def other(self) -> float:
        """What share of one core everybody else used."""
        return max(0.0, self.machine - self.server - self.own) / self.at if self.at else 0.0


class Processes:
    """The server's processes under load, and this program's own."""

    def __init__(self, server: Iterable[int]) -> None:
        self.server = tuple(server)
        self.own: set[int] = {os.getpid()}

    def usage(self) -> Usage:
        return Usage(
            perf_counter(),
            sum(cpu_seconds(pid) for pid in self.server),
            sum(cpu_seconds(pid) for pid in self.own),
            _machine_seconds(),
        )

    def rss_mib(self) -> float:
        return sum(rss_mib(pid) for pid in self.server)


def cpu_seconds(pid: int) -> float:
    """To the nanosecond where the kernel keeps that; threads that have ended are not counted then."""
    nanoseconds = 0
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            nanoseconds += int((task / "schedstat").read_text().split()[0])
        return nanoseconds / 1e9
    with suppress(OSError):
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    return 0.0


def ended_children_seconds(pid: int) -> float:
    """Of the processes that it started and that have ended, to the tick."""
    with suppress(OSError):
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) / _TICKS
    return 0.0


def rss_mib(pid: int) -> float:
    with suppress(OSError):
        for line in (_PROC / str(pid) / "status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    return 0.0


def _machine_seconds() -> float:
    """Busy time of all cores: user, nice, system, interrupts and what a hypervisor took."""
    fields = [int(field) for field in (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields[:3]) + sum(fields[5:8])) / _TICKS


def main_thread_seconds(pid: int) -> float:
    with suppress(OSError):
        return int((_PROC / str(pid) / "task" / str(pid) / "schedstat").read_text().split()[0]) / 1e9
    return 0.0
