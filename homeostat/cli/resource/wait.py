"""Waits until resources are ready or gone, and shows their progress.

On a terminal each resource has a line with its phase, message, duration and the URL of its run. Elsewhere each change
is a line on standard error.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeVar

import click

from homeostat.cli.console.failure import Failure, one_line
from homeostat.cli.console.progress import status_lines
from homeostat.cli.objects.changes import versions_of
from homeostat.cli.objects.kinds import Kind
from homeostat.cli.resource.kinds import resource_title
from homeostat.cli.resource.state import Goal, Standing, ahead, end_of, standing_of, status_of
from homeostat.client.base import Client, UnreachableError
from homeostat.objects.errors import UnavailableError
from homeostat.objects.json import JsonObject
from homeostat.runtime.control.failure_conditions import PAUSE

F = TypeVar("F", bound=Callable[..., Any])
Show = Callable[[str, Standing | None], None]
_RETRY_AFTER_S: Final = 1.0


class Awaited(NamedTuple):
    kind: Kind
    namespace: str
    name: str
    uid: str
    goal: Goal

    @property
    def title(self) -> str:
        return resource_title(self.kind.kind, self.name)


def awaited(kind: Kind, obj: JsonObject, goal: Goal) -> Awaited:
    metadata = obj["metadata"]
    return Awaited(kind, metadata.get("namespace", ""), metadata["name"], metadata["uid"], goal)


def wait_options(*, is_usual: bool | None = None) -> Callable[[F], F]:
    """Without a default, `is_awaited` is None unless given: then the command waits on a terminal only."""
    message = "Wait for the result.  [default: wait]" if is_usual else "Wait for the result.  [default: on a terminal]"

    def add(function: F) -> F:
        timeout = click.option(
            "--timeout", "within_s", default=600, show_default=True, type=click.IntRange(1), help="Seconds to wait."
        )
        return click.option("--wait/--no-wait", "is_awaited", default=is_usual, help=message)(timeout(function))

    return add


def is_wanted(is_awaited: bool | None) -> bool:
    return sys.stdout.isatty() if is_awaited is None else is_awaited


class _End(NamedTuple):
    is_good: bool
    text: str


async def wait_for(client: Client, targets: Sequence[Awaited], within_s: float) -> None:
    """Prints the result of each wait. Exits with 1 unless all resources reach their goals."""
    with _progress() as show:
        ends = await asyncio.gather(*(_wait(client, each, show, within_s) for each in targets))
    for target, end in zip(targets, ends, strict=True):
        if end.is_good:
            click.echo(f"{target.title} {end.text}")
        else:
            Failure(f"{target.title} {end.text}").show()
    if not all(end.is_good for end in ends):
        raise click.exceptions.Exit(1)


async def _wait(client: Client, target: Awaited, show: Show, within_s: float) -> _End:
    last: JsonObject | None = None
    try:
        async with asyncio.timeout(within_s), aclosing(_versions(client, target)) as versions:
            async for obj in versions:
                last = obj
                if (end := _end(target, obj)) is not None:
                    return end
                if obj is not None:
                    show(target.title, standing_of(obj))
    except TimeoutError:
        pass
    finally:
        show(target.title, None)
    return _End(False, f"is not {'gone' if target.goal.is_gone else 'ready'} after {within_s:.0f} s; {_state(last)}")


async def _versions(client: Client, target: Awaited) -> AsyncGenerator[JsonObject | None, None]:
    """Retries while the server is unreachable: a run may outlast a restart of the server."""
    while True:
        try:
            async with aclosing(versions_of(client, target.kind, target.namespace, target.name)) as versions:
                async for obj in versions:
                    yield obj
        except (UnreachableError, UnavailableError):
            await asyncio.sleep(_RETRY_AFTER_S)


def _state(last: JsonObject | None) -> str:
    if last is None:
        return "it does not exist"
    message = standing_of(last).text(time.time())
    return message if status_of(last).observed_generation else f"{message}; is the operator actions running?"


def _end(target: Awaited, obj: JsonObject | None) -> _End | None:
    if obj is None or obj["metadata"]["uid"] != target.uid:
        return _End(True, "is gone") if target.goal.is_gone else _End(False, "was deleted while waiting")
    match end_of(obj, target.goal, datetime.now(UTC)):
        case "ready":
            return _End(True, "is ready")
        case "failed":
            return _End(False, f"failed: {_failure(obj)}")
        case "undestroyed":
            return _End(False, f"is not destroyed: {_failure(obj)}")
        case "paused":
            return _End(False, f"is paused by its annotation {PAUSE}; remove the annotation to reconcile it")
        case None:
            return None


def _failure(obj: JsonObject) -> str:
    status = status_of(obj)
    again = ahead(status.next_run, time.time())
    return f"{status.message}{f'; retrying {again}' if again else ''}"


@contextmanager
def _progress() -> Iterator[Show]:
    """`Show` takes the state of a resource; None ends its line."""
    if sys.stderr.isatty():
        with status_lines() as draw:
            yield lambda title, standing: draw(title, None if standing is None else standing.text)
        return
    shown: dict[str, Standing] = {}

    def show_line(title: str, standing: Standing | None) -> None:
        # Without a run, it is the state before, or the final state that is printed anyway.
        if (
            standing is None
            or not standing.is_running
            or shown.get(title) == (lasting := standing._replace(since=None))
        ):
            return
        shown[title] = lasting
        click.echo(f"{title} {one_line(lasting.text(0))}", err=True)

    yield show_line
