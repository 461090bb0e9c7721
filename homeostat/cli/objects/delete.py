"""`homeostat delete`: deletes objects by name or by file, with a choice of what happens to their dependents."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

import click

from homeostat.cli.completion.words import complete_targets
from homeostat.cli.console.advice import missing_text
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.duration import Seconds, seconds_text
from homeostat.cli.console.failure import Failure, Refusals
from homeostat.cli.console.output import name_of, title
from homeostat.cli.files.manifests import files_option, read_manifests
from homeostat.cli.objects.kinds import Kinds, discover
from homeostat.cli.objects.targets import parse_targets, require_names
from homeostat.client.base import Client
from homeostat.objects.errors import ApiError, NotFoundError
from homeostat.objects.json import JsonObject

_FIRST_POLL_S = 0.02
_LONGEST_POLL_S = 1.0


class Deletion(NamedTuple):
    """An object to delete. The path is empty if the server does not serve its kind."""

    title: str
    path: str


@click.command(short_help="Delete objects by name or by file.")
@click.argument("words", nargs=-1, metavar="[KIND NAME...]", shell_complete=complete_targets)
@files_option(is_required=False)
@click.option(
    "--cascade",
    type=click.Choice(["background", "foreground", "orphan"]),
    default="background",
    show_default=True,
    help="Delete what they own after them, before them, or not at all.",
)
@click.option("--wait", "is_awaited", is_flag=True, help="Return only when they are gone.")
@click.option(
    "--timeout", "within_s", type=Seconds(), default="60s", show_default=True, help="How long to wait at most."
)
@connected
async def command(
    connection: Connection,
    words: tuple[str, ...],
    files: tuple[str, ...],
    cascade: str,
    is_awaited: bool,
    within_s: float,
) -> None:
    """Delete objects, named or found in files.

    \b
    Examples:
      homeostat delete cm settings
      homeostat delete deploy/web svc/web --wait
      homeostat delete -f web.yaml --cascade orphan
    """
    if bool(words) == bool(files):
        raise click.UsageError("name objects (KIND NAME) or files (-f FILE), one of the two")
    manifests = read_manifests(files) if files else []
    kinds = await discover(connection.client)
    run = _Run(connection.client, cascade, is_awaited=is_awaited)
    for each in _named(kinds, words, connection.namespace):
        await run.delete(each)
    # In the reverse order of creation: kinds and namespaces after the objects in them.
    for obj in reversed(manifests):
        await run.delete(_declared(kinds, obj, connection.namespace))
    if is_awaited:
        await run.wait(within_s)
    run.refusals.exit_if_any()


def _named(kinds: Kinds, words: Sequence[str], namespace: str) -> list[Deletion]:
    if not words:
        return []
    targets = require_names(parse_targets(kinds, words))
    return [Deletion(f"{kind.title}/{name}", kind.path(namespace, name)) for kind, name in targets]


def _declared(kinds: Kinds, obj: JsonObject, namespace: str) -> Deletion:
    kind = kinds.find(obj["apiVersion"], obj["kind"])
    path = kind.path(obj["metadata"].get("namespace") or namespace, name_of(obj)) if kind else ""
    return Deletion(title(obj), path)


def _remaining_finalizers(answer: JsonObject) -> list[str]:
    """Finalizers of an object that is terminating; a namespace has one in its spec."""
    if answer.get("kind") == "Status" or "deletionTimestamp" not in answer["metadata"]:
        return []
    own = answer["spec"] if (answer["apiVersion"], answer["kind"]) == ("v1", "Namespace") else {}
    return [*answer["metadata"].get("finalizers", []), *own.get("finalizers", [])]


class _Run:
    """One run of `delete`. Prints a line for each object; a refused one is counted and does not stop the others."""

    def __init__(self, client: Client, cascade: str, *, is_awaited: bool) -> None:
        self._client, self._is_awaited = client, is_awaited
        self._options: JsonObject = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "propagationPolicy": cascade.capitalize(),
        }
        self._uids: dict[Deletion, str] = {}
        self._terminating: set[Deletion] = set()
        self.refusals = Refusals()

    async def delete(self, deletion: Deletion) -> None:
        try:
            if not deletion.path:
                raise Failure("the server no longer serves this kind")
            answer = await self._client.delete(deletion.path, self._options)
        except (ApiError, Failure) as error:
            message = await missing_text(self._client, error) if isinstance(error, ApiError) else error.message
            self.refusals.add(f"{deletion.title}: {message}")
            return
        reference = answer["details"] if answer.get("kind") == "Status" else answer["metadata"]
        self._uids[deletion] = reference.get("uid", "")
        finalizers = _remaining_finalizers(answer)
        if not finalizers:
            click.echo(f"{deletion.title} deleted")
            return
        self._terminating.add(deletion)
        hint = "" if self._is_awaited else " (--wait returns when it is gone)"
        click.echo(f"{deletion.title}: deletion started; waiting for finalizers: {', '.join(finalizers)}{hint}")

    async def wait(self, within_s: float) -> None:
        """Wait until all deleted objects are gone, with their finalizers."""
        try:
            async with asyncio.timeout(within_s):
                for deletion, uid in self._uids.items():
                    await self._wait_until_gone(deletion, uid)
                    if deletion in self._terminating:
                        click.echo(f"{deletion.title} deleted")
        except TimeoutError as error:
            raise Failure(
                f"{deletion.title} is not gone after {seconds_text(within_s)}; read its finalizers and conditions: "
                f"homeostat describe {deletion.title}"
            ) from error

    async def _wait_until_gone(self, deletion: Deletion, uid: str) -> None:
        pause_s = _FIRST_POLL_S
        try:
            while (await self._client.get(deletion.path))["metadata"]["uid"] == uid:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_POLL_S)
        except NotFoundError:
            return
