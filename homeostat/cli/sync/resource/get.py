"""`homeostat sync resource get`: prints a resource, or a collection as a list."""

from __future__ import annotations

from contextlib import suppress

import click

from homeostat.cli.sync.console.flags import EXCLUDE, HTTP_METHOD, PRUNE_DEFAULTS, SOURCE
from homeostat.cli.sync.console.output import print_payload, print_value
from homeostat.cli.sync.console.run import Run, chosen_target, path_arguments, sync_command
from homeostat.cli.sync.console.scope import collection_items, excluded, is_known_collection, listed
from homeostat.objects.json import JsonObject
from homeostat.operators.sync.engine.errors import ListShapeError, NotFoundError, SyncError
from homeostat.operators.sync.engine.lists.items import Item
from homeostat.operators.sync.engine.metadata.call import Place
from homeostat.operators.sync.engine.metadata.defaults import compact
from homeostat.operators.sync.engine.paths.logical import Target, name
from homeostat.operators.sync.engine.payload.codec import Payload, wrapped
from homeostat.operators.sync.session.desired import find_local, hidden_value, local_payload, with_secrets
from homeostat.operators.sync.session.remote import find, payload_of, render
from homeostat.operators.sync.session.session import Session


@click.command("get", short_help="Print a resource or a collection.")
@path_arguments
@SOURCE
@EXCLUDE
@PRUNE_DEFAULTS
@click.option("--show-secrets", is_flag=True, help="Show secrets instead of placeholders.")
@click.option("--show-metadata", is_flag=True, help="Print the metadata beside the payload.")
@HTTP_METHOD
@sync_command()
async def command(
    run: Run,
    path: str | None,
    path_option: str | None,
    source: str,
    exclude: str | None,
    prune_defaults: bool,
    show_secrets: bool,
    show_metadata: bool,
    http_method: str,
) -> None:
    """Print one resource, or a collection as a list.

    \b
    Examples:
      homeostat sync resource get /customers/acme
      homeostat sync resource get /customers/ --source repository -o yaml
    """
    target = chosen_target(path, path_option)
    async with run.session(target.path, connects=source != "repository") as session:
        view = _View(session, prune_defaults, show_secrets, excluded(exclude))
        found = await (view.local(target) if source == "repository" else view.remote(target, http_method))
        if run.settings.output == "text" and view.paths is not None:
            click.echo("".join(f"{each}\n" for each in view.paths), nl=False)
        elif show_metadata:
            print_value(run, {"payload": wrapped(found), "metadata": await _metadata(session, target)})
        else:
            print_payload(run, found)


class _View:
    """What is shown of a value: without defaults, without secrets, as asked."""

    def __init__(self, session: Session, prunes: bool, shows_secrets: bool, excludes: set[str]) -> None:
        self._session, self._prunes, self._shows, self._excludes = session, prunes, shows_secrets, excludes
        self.paths: list[str] | None = None
        """Of the items, if it is a collection."""

    async def local(self, target: Target) -> Payload:
        path = None if target.is_collection else find_local(self._session, target.path)
        if path is not None and (payload := local_payload(self._session, path)) is not None:
            return await self._local(path, payload)
        paths = [each for each in listed(self._session, target, is_recursive=False) if name(each) not in self._excludes]
        self.paths = paths
        payloads = ((each, local_payload(self._session, each)) for each in paths)
        return Payload([(await self._local(each, found)).value for each, found in payloads if found is not None])

    async def _local(self, path: str, payload: Payload) -> Payload:
        """With the secrets of the store, if the command shows them."""
        if self._shows:
            payload = Payload(await with_secrets(self._session, path, payload), payload.form)
        return self._shown(path, payload)

    async def remote(self, target: Target, method: str) -> Payload:
        if target.is_collection:
            with suppress(ListShapeError):
                return self._items(await collection_items(self._session, target.path, method=method))
        try:
            found = await find(self._session, target.path, method=method)
        except NotFoundError:
            if not is_known_collection(self._session, target.path):
                raise
            return self._items(await collection_items(self._session, target.path, method=method))
        return self._shown(target.path, payload_of(found))

    def _items(self, items: list[Item]) -> Payload:
        kept = [each for each in items if each.alias not in self._excludes and each.id not in self._excludes]
        self.paths = [each.path for each in kept]
        return Payload([self._shown(each.path, Payload(each.value)).value for each in kept])

    def _shown(self, path: str, payload: Payload) -> Payload:
        rules = self._session.metadata.rules(path)
        value = payload.value if self._shows else hidden_value(self._session, path, payload.value)
        return Payload(compact(value, rules.defaults) if self._prunes else value, payload.form)


async def _metadata(session: Session, target: Target) -> JsonObject:
    rules = session.metadata.rules(target.path, is_collection=target.is_collection)
    document = rules.document
    place = Place(path=target.path, is_collection=target.is_collection)
    for operation, value in document["operations"].items():
        if operation == "defaults":
            continue
        try:
            call = await render(session, rules, operation, place)
        except SyncError:
            continue
        value |= {"method": call.method, "path": call.path}
        for key, texts in (("query", call.query), ("headers", call.headers)):
            if texts:
                value[key] = dict(texts)
    return document
