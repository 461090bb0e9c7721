"""The CPU time of the longest turns of a plane's event loop. A busy machine does not change it, unlike a wait.

`python -m benchmarks.soak.turns FILE up ...` runs the program `homeostat` and writes a `Turn` for each turn of its loop
that computed for longer than a bound, as JSON lines, with the place in the code where a sampler found it and what the
kernel did meanwhile: in a virtual machine page faults and stolen time lengthen a turn that computes little.
"""

from __future__ import annotations

import asyncio
import gc
import os
import resource
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import msgspec

NOTED_S = 0.010
_NOTED_OTHERS_S = 0.050
_EVERY_S = 0.001
_SAMPLE_EVERY_S = 0.004
_FRAMES = 12
_TICKS = os.sysconf("SC_CLK_TCK")


class Turn(msgspec.Struct):
    at: float
    """When it ended, by `monotonic`."""
    loop_ms: float
    """CPU time of the thread of the event loop."""
    others_ms: float
    """CPU time of the other threads meanwhile. If they did not give up the interpreter lock, the loop waited."""
    collection_ms: float
    """CPU time of the garbage collector, in whichever thread: it holds the interpreter lock."""
    where: list[str]
    generation: int = -1
    """The oldest generation that was collected, if any was."""
    wall_ms: float = 0.0
    """By the clock, with the wait for events."""
    system_ms: float = 0.0
    """Of `loop_ms`, the CPU time in the kernel."""
    faults: int = 0
    """Pages that were mapped."""
    disk_faults: int = 0
    """Pages that were read from disk."""
    preempted: int = 0
    """How often the kernel gave the core to another thread."""
    stolen_ms: float = 0.0
    """Time that the host took from all cores, in steps of 10 ms."""

    @property
    def own_ms(self) -> float:
        """CPU time of the loop, as far as it is certain. In a virtual machine the clock of a thread may jump beyond
        those of the process and of the wall, and it counts some of the time that the host stole. Another core may have
        lost that time, so this may be too little; another round then shows it.
        """
        return max(0.0, min(self.loop_ms, self.loop_ms + self.others_ms, self.wall_ms or self.loop_ms) - self.stolen_ms)

    def causes(self) -> str:
        """For people: what the time went to."""
        return (
            f"{self.system_ms:.0f} ms of it in the kernel, {self.wall_ms:.0f} ms by the clock, {self.faults} page "
            f"faults ({self.disk_faults} from disk), preempted {self.preempted} times, {self.stolen_ms:.0f} ms stolen "
            f"by the host, {self.collection_ms:.0f} ms of garbage collection, {self.others_ms:.0f} ms of other threads"
        )


class Moment(NamedTuple):
    """What the thread of the loop and the machine had used by then."""

    wall_s: float
    process_s: float
    thread_s: float
    used: resource.struct_rusage
    stolen_s: float

    @classmethod
    def now(cls, stat: int) -> Moment:
        stolen = int(os.pread(stat, 256, 0).split()[8]) / _TICKS
        used = resource.getrusage(resource.RUSAGE_THREAD)
        return cls(time.monotonic(), time.process_time(), time.thread_time(), used, stolen)


class Recorder:
    """Notes long turns of a loop from the moment at which it is created."""

    def __init__(self, loop: asyncio.AbstractEventLoop, path: Path) -> None:
        self._loop = loop
        self._file = path.open("ab")
        self._clock = time.pthread_getcpuclockid(threading.get_ident())
        self._ident = threading.get_ident()
        self._where: list[str] = []
        self._collected_s = self._collecting_since = 0.0
        self._generation = -1
        self._stat = os.open("/proc/stat", os.O_RDONLY)
        self._since = Moment.now(self._stat)
        self._encode = msgspec.json.Encoder().encode
        loop.call_soon(self._tick)
        gc.callbacks.append(self._note_collection)
        threading.Thread(target=self._sample, name="turns", daemon=True).start()

    def _tick(self) -> None:
        now, since = Moment.now(self._stat), self._since
        mine = now.thread_s - since.thread_s
        others = now.process_s - since.process_s - mine
        if mine >= NOTED_S or others >= _NOTED_OTHERS_S:
            turn = Turn(
                at=now.wall_s,
                loop_ms=mine * 1000,
                others_ms=others * 1000,
                collection_ms=self._collected_s * 1000,
                where=self._where,
                generation=self._generation,
                wall_ms=(now.wall_s - since.wall_s) * 1000,
                system_ms=(now.used.ru_stime - since.used.ru_stime) * 1000,
                faults=now.used.ru_minflt - since.used.ru_minflt,
                disk_faults=now.used.ru_majflt - since.used.ru_majflt,
                preempted=now.used.ru_nivcsw - since.used.ru_nivcsw,
                stolen_ms=(now.stolen_s - since.stolen_s) * 1000,
            )
            self._file.write(self._encode(turn) + b"\n")
            self._file.flush()
            now = Moment.now(self._stat)
        self._where, self._collected_s, self._generation = [], 0.0, -1
        self._since = now
        self._loop.call_later(_EVERY_S, self._tick)

    def _note_collection(self, phase: str, facts: dict[str, int]) -> None:
        if phase == "start":
            self._collecting_since = time.thread_time()
        else:
            self._collected_s += time.thread_time() - self._collecting_since
            self._generation = max(self._generation, facts["generation"])

    def _sample(self) -> None:
        while True:
            time.sleep(_SAMPLE_EVERY_S)
            if time.clock_gettime(self._clock) - self._since.thread_s >= NOTED_S / 2:
                self._where = _frames(sys._current_frames().get(self._ident))


def _frames(frame: FrameType | None) -> list[str]:
    found = traceback.extract_stack(frame, _FRAMES) if frame else []
    return [f"{'/'.join(Path(each.filename).parts[-2:])}:{each.lineno} {each.name}" for each in reversed(found)]


def read_turns(path: Path) -> list[Turn]:
    return [msgspec.json.decode(line, type=Turn) for line in path.read_bytes().splitlines()] if path.exists() else []


def _measured(factory: Callable[[], asyncio.AbstractEventLoop], path: Path) -> Callable[[], asyncio.AbstractEventLoop]:
    def create() -> asyncio.AbstractEventLoop:
        loop = factory()
        Recorder(loop, path)
        return loop

    return create


def main() -> None:
    from homeostat.cli.main import main as homeostat
    from homeostat.edge import loop

    path = Path(sys.argv.pop(1))
    usual = loop.loop_factory
    loop.loop_factory = lambda: _measured(usual(), path)
    sys.exit(homeostat())


if __name__ == "__main__":
    main()
