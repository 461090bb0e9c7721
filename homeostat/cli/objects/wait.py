"""`homeostat wait`: waits until objects have a condition, a field has a value, or objects exist or are gone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from typing import Final, NamedTuple

import click

from homeostat.cli.completion.words import complete_targets
from homeostat.cli.console.advice import missing_text
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.duration import Seconds, seconds_text
from homeostat.cli.console.failure import Failure, Refusals
from homeostat.cli.console.output import name_of
from homeostat.cli.console.selection import selector_option
from homeostat.cli.console.template import TemplateError, find_values, value_text
from homeostat.cli.files.manifests import files_option, read_manifests
from homeostat.cli.objects.changes import versions_of
from homeostat.cli.objects.kinds import Kinds, discover
from homeostat.cli.objects.targets import Target, parse_targets
from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import Json, JsonObject

Holds = Callable[[JsonObject | None], bool]
"""Whether an object, or None for one that does not exist, is as it is waited for."""
_FORMS: Final = "condition=NAME[=VALUE], jsonpath=PATH[=VALUE], create or delete"


class Goal(NamedTuple):
    holds: Holds
    needs_object: bool
    """Whether an object that does not exist is an error."""
    text: str = ""
    """What is waited for."""
    state: Callable[[JsonObject], str] = lambda _: "it exists"
    """What is the case instead."""


class GoalType(click.ParamType[Goal]):
    name = "goal"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Goal:
        if isinstance(value, Goal):
            return value
        try:
            return parse_goal(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command(short_help="Wait until objects have a condition, exist or are gone.")
@click.argument("words", nargs=-1, metavar="[KIND [NAME]...]", shell_complete=complete_targets)
@files_option(is_required=False)
@click.option("--for", "goal", type=GoalType(), required=True, metavar="GOAL", help=f"What to wait for: {_FORMS}.")
@selector_option
@click.option("--all", "is_all", is_flag=True, help="All objects of the kind that exist now.")
@click.option(
    "--timeout", "within_s", type=Seconds(), default="30s", show_default=True, help="How long to wait; 0 checks once."
)
@connected
async def command(
    connection: Connection,
    words: tuple[str, ...],
    files: tuple[str, ...],
    goal: Goal,
    selector: str,
    is_all: bool,
    within_s: float,
) -> None:
    """Wait until objects have a condition, exist or are gone; exit with 1 after the timeout.

    A condition with an older observedGeneration than the object is ignored. jsonpath without a VALUE waits until the
    field exists.

    \b
    Examples:
      homeostat wait deploy/web --for=condition=Available --timeout 2m
      homeostat wait crd/widgets.example.com --for=condition=Established
      homeostat wait pod/web --for=jsonpath='{.status.phase}'=Running
      homeostat wait pods --all --for=delete
      homeostat wait -f web.yaml --for=condition=Ready
    """
    if bool(words) == bool(files):
        raise click.UsageError("name objects (KIND NAME) or files (-f FILE), one of the two")
    manifests = read_manifests(files) if files else []
    kinds = await discover(connection.client)
    if files:
        found: Sequence[Awaited] = [_declared(kinds, obj, connection.namespace) for obj in manifests]
    else:
        found = await _named(connection, parse_targets(kinds, words), selector, is_all=is_all)
    if not found and (goal.needs_object or not goal.holds(None)):
        raise Failure("no objects match; there is nothing to wait for")
    refusals = Refusals()
    await asyncio.gather(*(_wait(connection.client, each, goal, within_s, refusals) for each in found))
    refusals.exit_if_any()


class Awaited(NamedTuple):
    target: Target
    namespace: str

    @property
    def title(self) -> str:
        return f"{self.target.kind.title}/{self.target.name}"


def _declared(kinds: Kinds, obj: JsonObject, namespace: str) -> Awaited:
    kind = kinds.require(obj["apiVersion"], obj["kind"])
    return Awaited(Target(kind, name_of(obj)), obj["metadata"].get("namespace") or namespace)


async def _named(
    connection: Connection, targets: Sequence[Target], selector: str, *, is_all: bool
) -> Sequence[Awaited]:
    namespace = connection.namespace
    if targets[0].name:
        if selector or is_all:
            raise click.UsageError("pass NAMEs, --selector or --all, one of the three")
        return [Awaited(each, namespace) for each in targets]
    if bool(selector) == is_all:
        raise click.UsageError("pass NAMEs, --selector or --all, one of the three")
    return [
        Awaited(Target(each.kind, name_of(obj)), namespace)
        for each in targets
        for obj in (await connection.client.list(each.kind.path(namespace), labelSelector=selector))[0]
    ]


async def _wait(client: Client, awaited: Awaited, goal: Goal, within_s: float, refusals: Refusals) -> None:
    last = _Last()
    try:
        async with asyncio.timeout(within_s or None):
            await _until(client, awaited, goal, last, is_once=not within_s)
    except TimeoutError:
        state = goal.state(last.obj) if last.obj is not None else "it does not exist"
        refusals.add(
            f"{awaited.title}: timed out after {seconds_text(within_s)} waiting for {goal.text}; {state}; "
            f"see: homeostat describe {awaited.title}"
        )
    except (ApiError, Failure) as error:
        message = await missing_text(client, error) if isinstance(error, ApiError) else error.message
        refusals.add(f"{awaited.title}: {message}")
    else:
        click.echo(f"{awaited.title} condition met")


class _Last:
    """The newest version that was seen."""

    obj: JsonObject | None = None


async def _until(client: Client, awaited: Awaited, goal: Goal, last: _Last, *, is_once: bool) -> None:
    kind, name = awaited.target
    uid = ""
    async with aclosing(versions_of(client, kind, awaited.namespace, name)) as versions:
        async for obj in versions:
            last.obj = obj
            if obj is None and goal.needs_object:
                raise NotFoundError("it was deleted") if uid else _absent(awaited)
            # An object of the same name that was created since is another one.
            new_uid = obj["metadata"]["uid"] if obj is not None else ""
            is_replaced = bool(uid and new_uid and new_uid != uid)
            uid = uid or new_uid
            if goal.holds(None if is_replaced and not goal.needs_object else obj):
                return
            if is_once:
                raise TimeoutError


def _absent(awaited: Awaited) -> NotFoundError:
    kind, name = awaited.target
    where = f' in namespace "{awaited.namespace}"' if kind.is_namespaced else ""
    return NotFoundError(f"it does not exist{where}", kind=kind.plural, group=kind.group, name=name)


def parse_goal(text: str) -> Goal:
    """`ValueError` for what is none."""
    if text == "delete":
        return Goal(lambda obj: obj is None, False, "its deletion", _remaining)
    if text == "create":
        return Goal(lambda obj: obj is not None, False, "its creation")
    form, _, rest = text.partition("=")
    if form == "condition" and rest:
        name, _, value = rest.partition("=")
        return Goal(_condition(name, value or "True"), True, f"condition {rest}", _conditions)
    if form == "jsonpath" and rest:
        return Goal(_field(rest), True, rest, _value(rest))
    raise ValueError(f"{text!r} is not one of {_FORMS}")


def _condition(name: str, value: str) -> Holds:
    def holds(obj: JsonObject | None) -> bool:
        status = (obj or {}).get("status") or {}
        generation = (obj or {"metadata": {}})["metadata"].get("generation", 0)
        if _observed(status, generation) < generation:
            return False
        return any(
            str(each.get("type", "")).lower() == name.lower()
            and str(each.get("status", "")).lower() == value.lower()
            and _observed(each, generation) >= generation
            for each in status.get("conditions") or ()
        )

    return holds


def _conditions(obj: JsonObject) -> str:
    status = obj.get("status") or {}
    generation = obj["metadata"].get("generation", 0)
    found = [f"{each.get('type', '')}={each.get('status', '')}" for each in status.get("conditions") or ()]
    stale = ", of an earlier generation" if _observed(status, generation) < generation else ""
    return f"it has {', '.join(found) or 'no conditions'}{stale}"


def _remaining(obj: JsonObject) -> str:
    metadata = obj["metadata"]
    if "deletionTimestamp" not in metadata:
        return "it is not being deleted"
    return f"it is being deleted, with finalizers {', '.join(metadata.get('finalizers') or ()) or 'none'}"


def _observed(part: JsonObject, otherwise: int) -> int:
    observed = part.get("observedGeneration")
    return observed if isinstance(observed, int) else otherwise


def _field(text: str) -> Holds:
    path, value = _split(text)
    try:
        find = find_values(path)
    except TemplateError as error:
        raise ValueError(str(error)) from error

    def holds(obj: JsonObject | None) -> bool:
        found: Sequence[Json] = find(obj)
        if value is None:
            return bool(found)
        if len(found) > 1:
            raise Failure(f"{path} finds {len(found)} values; wait compares one, so name it, as in [0]")
        return bool(found) and value_text(found[0]) == value

    return holds


def _value(text: str) -> Callable[[JsonObject], str]:
    find = find_values(_split(text)[0])

    def state(obj: JsonObject) -> str:
        found = find(obj)
        return f"it is {value_text(found[0])}" if found else "there is no such field"

    return state


def _split(text: str) -> tuple[str, str | None]:
    """The path, and the value that follows it; None for one that need only exist."""
    if text.startswith("{"):
        path, brace, rest = text.rpartition("}")
        if not brace or (rest and not rest.startswith("=")):
            raise ValueError(f"{text!r} is not {{PATH}} or {{PATH}}=VALUE")
        return path[1:], rest[1:].strip("'\"") if rest else None
    path, equals, value = text.rpartition("=")
    return (path, value.strip("'\"")) if equals else (text, None)
