"""The life of one resource in processes that are killed, each at its moment; the effects are lines of a file.

    python -m tests.operators.actions.killed_process FOLDER shelf|yard          # every moment, each on its own plane
    python -m tests.operators.actions.killed_process FOLDER shelf|yard DATABASE # one life, killed again and again

A moment is right after a write was answered, or an effect done: whoever asked never hears of it. For each moment a
process is forked that is killed at it, and another one that goes on to the end; what there is then is told as JSON.
"""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from homeostat.client.base import Client, Response, Transport
from homeostat.objects.errors import NotFoundError
from homeostat.operators.actions.api import RECONCILIATION, Keep
from homeostat.operators.actions.plugins.plugin import Job
from homeostat.operators.actions.runs.run import Outcome
from homeostat.operators.actions.world import Lost, Plan, Underway
from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually
from homeostat.testing.status import condition_of
from tests.operators.actions.things import ShelfConfig, ShelfPlugin, Things, managed

_MOST = 40
_WITHIN_S = 20.0


class Aftermath(msgspec.Struct):
    """What a process leaves that was killed at the moment; `is_killed` is false for the one that came after."""

    moment: int
    is_killed: bool
    effects: list[str]
    entries: list[tuple[str, bool]]
    """Trigger and success of each reconciliation."""


class Moments:
    """Counts down, and kills the process."""

    def __init__(self, left: int) -> None:
        self._left = left

    def pass_by(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


class Mortal:
    """A transport whose writes to resources and their history are moments."""

    def __init__(self, transport: Transport, moments: Moments) -> None:
        self._transport, self._moments = transport, moments

    async def send(
        self, method: str, path: str, *, query: str = "", body: bytes = b"", content_type: str = "", accept: str = ""
    ) -> Response:
        answer = await self._transport.send(
            method, path, query=query, body=body, content_type=content_type, accept=accept
        )
        if method != "GET" and ("/things/" in path or "/reconciliations" in path) and answer.status < 300:
            self._moments.pass_by()
        return answer

    async def stream(self, path: str, *, query: str = "", accept: str = "") -> Response | AsyncIterator[bytes]:
        return await self._transport.stream(path, query=query, accept=accept)


class Lines:
    """A file to which every effect adds a line."""

    def __init__(self, path: Path, moments: Moments) -> None:
        self._path, self._moments = path, moments

    def read(self) -> list[str]:
        return self._path.read_text().splitlines() if self._path.exists() else []

    def add(self, line: str) -> None:
        with self._path.open("a") as file:
            file.write(f"{line}\n")
        self._moments.pass_by()


class FileShelf(ShelfPlugin):
    """Its things are lines `name=text`, the last of a name counting; without a text it is gone."""

    def __init__(self, lines: Lines) -> None:
        super().__init__()
        self.things = _FileThings(lines)


class _FileThings(dict[str, str]):
    def __init__(self, lines: Lines) -> None:
        super().__init__((name, text) for name, _, text in (line.partition("=") for line in lines.read()))
        self._lines = lines

    def __setitem__(self, name: str, text: str) -> None:
        super().__setitem__(name, text)
        self._lines.add(f"{name}={text}")

    def pop(self, name: str, *_: object) -> str:
        if self.get(name):
            self[name] = ""
        return ""


class FileYard:
    """Another system, whose runs are lines `ticket name=text`; it does not mind being asked twice."""

    name, version, config = "yard", "1.0.0", ShelfConfig

    def __init__(self, lines: Lines) -> None:
        self._lines = lines

    async def plan(self, job: Job[ShelfConfig]) -> Plan:
        return Plan(not job.is_applied)

    async def start(self, job: Job[ShelfConfig]) -> Underway:
        self._lines.add(f"{job.ticket} {job.name}={job.spec['text'] if job.purpose == 'apply' else ''}")
        return Underway({"id": len(self._lines.read())})

    async def follow(self, job: Job[ShelfConfig]) -> Outcome | Lost:
        if any(each.startswith(f"{job.ticket} ") for each in self._lines.read()):
            return Outcome(is_success=True)
        return Lost(is_restartable=True)


PLUGINS: dict[str, Callable[[Lines], Any]] = {"shelf": FileShelf, "yard": FileYard}


async def live(folder: Path, plugin: str, database: str | None, moment: int) -> list[tuple[str, bool]]:
    """Made, ready, deleted, gone; from wherever it stands. Returns trigger and success of each reconciliation."""
    moments = Moments(moment)
    things = _things(folder, plugin, moments)
    async with open_plane(_settings(folder, database)) as plane:
        mortal = plane.client.over(lambda transport: Mortal(transport, moments))
        async with managed(mortal, things):
            await eventually(lambda: _is_ready_or_going(plane.client, things), within_s=_WITHIN_S)
            with suppress(NotFoundError):
                await plane.client.delete(things.path("one"))
            await eventually(lambda: _is_gone(plane.client, things), within_s=_WITHIN_S)
        found, _ = await plane.client.list(RECONCILIATION.kind.path("default"))
    return [(each["spec"]["trigger"], each["spec"]["isSuccess"]) for each in found]


async def prepare(folder: Path, plugin: str, database: str | None) -> None:
    """A plane with the type and the resource, which nobody has reconciled."""
    things = _things(folder, plugin, Moments(0))
    async with open_plane(_settings(folder, database)) as plane:
        async with managed(plane.client, things):
            pass
        await plane.client.create(things.path(), things.thing("one"))


def _things(folder: Path, plugin: str, moments: Moments) -> Things:
    lines = Lines(folder / "effects", moments)
    things = Things(plugin, {}, folder / "work", **{plugin: PLUGINS[plugin](lines)})
    # With one entry to keep, the second makes room first.
    things.type = msgspec.structs.replace(things.type, history=Keep(entries=1))
    return things


def _settings(folder: Path, database: str | None) -> Settings:
    more = {} if database is None else {"database": database}
    return Settings(data=folder / "plane", port=0, is_open=True, operators=frozenset(), **more)  # type: ignore[arg-type]


async def _is_ready_or_going(client: Client, things: Things) -> bool:
    with suppress(NotFoundError):
        obj = await client.get(things.path("one"))
        return condition_of(obj, "Ready").get("status") == "True" or "deletionTimestamp" in obj["metadata"]
    return True


async def _is_gone(client: Client, things: Things) -> bool:
    with suppress(NotFoundError):
        await client.get(things.path("one"))
        return False
    return True


def forked(work: Coroutine[Any, Any, None]) -> int:
    """How a process of its own ended: minus the signal, or its exit code. All planes are opened in such: what a plane
    leaves in this process, a thread say, would be half there in the next one.
    """
    pid = os.fork()
    if pid == 0:
        try:
            asyncio.run(work)
        except BaseException as error:
            sys.stderr.write(f"{work!r}: {error!r}\n")
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    work.close()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


async def tell(folder: Path, plugin: str, database: str | None, *, kill_at: int, killed: int = 0) -> None:
    """Runs, and prints what there is at the end, unless it is killed. `killed` is where one before it was."""
    entries = await live(folder, plugin, database, kill_at)
    effects = Lines(folder / "effects", Moments(0)).read()
    told = Aftermath(killed or kill_at, killed > 0, effects, entries)
    sys.stdout.write(f"{msgspec.json.encode(told).decode()}\n")
    sys.stdout.flush()


def import_what_a_life_needs(folder: Path, plugin: str) -> None:
    """Here, once, instead of in every process that is forked."""
    told = folder / "modules"

    async def whole_life() -> None:
        await prepare(folder / "whole", plugin, None)
        await live(folder / "whole", plugin, None, 0)
        told.write_text("\n".join(name for name in sys.modules if name.startswith("homeostat.")))

    forked(whole_life())
    for name in told.read_text().splitlines():
        import_module(name)
    gc.freeze()


def every_moment(folder: Path, plugin: str) -> None:
    import_what_a_life_needs(folder, plugin)
    before = folder / "before"
    forked(prepare(before, plugin, None))
    for moment in range(1, _MOST):
        here = folder / str(moment)
        shutil.copytree(before, here)
        ended = forked(tell(here, plugin, None, kill_at=moment))
        is_killed = ended == -signal.SIGKILL
        if is_killed:
            ended = forked(tell(here, plugin, None, kill_at=0, killed=moment))
        if ended != 0:
            raise SystemExit(f"{plugin} at {moment}: a process ended with {ended}")
        if not is_killed:
            return


def again_and_again(folder: Path, plugin: str, database: str) -> None:
    """Each process is killed two moments later than the one before."""
    import_what_a_life_needs(folder / "imports", plugin)
    forked(prepare(folder, plugin, database))
    for moment in range(1, _MOST, 2):
        ended = forked(tell(folder, plugin, database, kill_at=moment))
        if ended == 0:
            return
        if ended != -signal.SIGKILL:
            raise SystemExit(f"{plugin} at {moment}: a process ended with {ended}")


if __name__ == "__main__":
    if len(sys.argv) > 3:
        again_and_again(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
    else:
        every_moment(Path(sys.argv[1]), sys.argv[2])
