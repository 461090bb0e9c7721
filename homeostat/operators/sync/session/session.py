"""One run against one context: its files, its server, its secrets, and what was read of them.

Nothing is read twice: the tree is loaded once, metadata is compiled once a collection, a remote collection is listed
once. Every secret that is resolved becomes known to the scrubber, so that nothing printed afterwards shows it.

The clients of servers, registries and remotes are imported when a session has one: they are half of a short command.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from homeostat.external.secrets.scrub import Scrubber
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.context.settings import (
    Surroundings,
    base_directory,
    git_remote,
    is_git,
    proxies_of,
    secret_store,
    server_settings,
)
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.lists.items import Item, identity_of
from homeostat.operators.sync.engine.metadata.bundle import Bundle
from homeostat.operators.sync.engine.metadata.layers import Metadata
from homeostat.operators.sync.engine.metadata.rules import Rules
from homeostat.operators.sync.engine.openapi.document import MAX_BYTES, OpenApi
from homeostat.operators.sync.engine.paths.logical import ROOT, parent, segments
from homeostat.operators.sync.engine.payload import yaml
from homeostat.operators.sync.engine.tree.directory import Directory
from homeostat.operators.sync.jq.programs import JqPrograms
from homeostat.operators.sync.repository.files import FileRepository, read_file
from homeostat.operators.sync.server.settings import CONCURRENT
from homeostat.operators.sync.stores.store import SecretStore

if TYPE_CHECKING:
    from homeostat.external.git.access import Remote
    from homeostat.operators.sync.server.client import ManagedServer
    from homeostat.operators.sync.server.settings import ServerSettings

MOST_LISTED: Final = 20_000
"""Items of lists that are kept from one batch of resources to the next."""


@dataclass(slots=True)
class Session:
    """`open_session` makes one. Use it as a context."""

    context: JsonObject
    scrubber: Scrubber
    repository: FileRepository | None = None
    is_git: bool = False
    git_remote: Remote | None = None
    server: ManagedServer | None = None
    store: SecretStore | None = None
    openapi: OpenApi | None = None
    shared: Directory | None = None
    jq: JqPrograms = field(default_factory=JqPrograms)
    root: Directory = field(default_factory=Directory)
    metadata: Metadata = field(default_factory=Metadata)
    secret_names: set[str] = field(default_factory=set)
    """Last names of attributes that files have placeholders of secrets for."""
    lists: dict[str, list[Item]] = field(default_factory=dict)
    listing: dict[str, asyncio.Future[list[Item] | None]] = field(default_factory=dict)
    """The lists that are being read. The result is None if the read failed."""
    indexes: dict[str, tuple[dict[str, Item], dict[str, Item]]] = field(default_factory=dict)

    async def __aenter__(self) -> Session:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.jq.close()
        if self.server is not None:
            await self.server.close()
        if self.store is not None:
            await self.store.close()

    async def load(self, path: str, *, is_recursive: bool = False, depth: int = 1) -> None:
        """Read the part of the repository that this path needs."""
        if self.repository is not None:
            self.root = await self.repository.load(path, is_recursive=is_recursive, depth=depth)
            if path != ROOT and self.root.at(segments(path)) is None:
                # It may be another name of a resource in its collection.
                self.root = await self.repository.load(parent(path), is_recursive=False, depth=depth + 1)
        self.use(self.root)

    def use(self, root: Directory) -> None:
        """Work on this tree: of a directory, or of a commit."""
        self.root = root
        self.metadata = Metadata(self.shared, root) if self.shared is not None else Metadata(root)

    def index(self, collection: str) -> tuple[dict[str, Item], dict[str, Item]] | None:
        """The items of a list that was read, by id and by alias."""
        items = self.lists.get(collection)
        if items is None:
            return None
        if collection not in self.indexes:
            self.indexes[collection] = ({each.id: each for each in items}, {each.alias: each for each in items})
        return self.indexes[collection]

    def forget(self, collection: str) -> None:
        self.lists.pop(collection, None)
        self.indexes.pop(collection, None)
        # A list that is being read may be stale too: the next caller reads its own.
        self.listing.pop(collection, None)

    def trim(self) -> None:
        """Forget the lists that were read first, until the others are within `MOST_LISTED`."""
        listed = sum(map(len, self.lists.values()))
        for collection, items in list(self.lists.items()):
            if listed <= MOST_LISTED:
                return
            listed -= len(items)
            self.forget(collection)

    def remember(self, collection: str, value: Json, rules: Rules) -> None:
        """Add what a write answered to the list of its collection; without an answer the list is stale for names."""
        index = self.index(collection)
        if index is None:
            return
        alias, identity = identity_of(rules, value) if isinstance(value, dict) else ("", "")
        if alias:
            item = Item(f"{collection}/{alias}", alias, identity, value)
            self.lists[collection].append(item)
            index[0][identity] = index[1][alias] = item
        elif not rules.has_one_identity:
            self.forget(collection)

    @property
    def concurrency(self) -> int:
        """Requests at a time. Those of one session never wait in the queue of `requestThrottling`, which is bounded."""
        limit = self.server.settings.throttle.concurrent if self.server is not None else 0
        return min(CONCURRENT, limit) if limit else CONCURRENT

    @property
    def files(self) -> FileRepository:
        if self.repository is None:
            raise ValidationError("the context has no repository; set repository in the context")
        return self.repository

    @property
    def remote(self) -> ManagedServer:
        if self.server is None:
            raise ValidationError("the context has no managedService; set managedService.http in the context")
        return self.server

    @property
    def secrets(self) -> SecretStore:
        if self.store is None:
            raise ValidationError("the context has no secretStore; set secretStore in the context")
        return self.store


async def open_session(
    context: JsonObject, around: Surroundings, *, connects: bool = True, fetches: bool = True
) -> Session:
    """A session that does not connect asks nobody for the server's credentials. One that does not fetch has the
    repository's metadata only; `fetch_shared` adds the others."""
    base = base_directory(context)
    settings = await server_settings(context, around) if connects else None
    shared, openapi = await fetch_shared(context, around) if fetches else (None, None)
    return Session(
        context,
        around.scrubber,
        repository=FileRepository(base) if base is not None else None,
        is_git=is_git(context),
        git_remote=await git_remote(context, around),
        server=_server(settings, around) if settings is not None else None,
        store=await secret_store(context, around),
        openapi=openapi,
        shared=shared,
    )


async def fetch_shared(context: JsonObject, around: Surroundings) -> tuple[Directory | None, OpenApi | None]:
    """The metadata of the context's bundle or directory, and its OpenAPI document."""
    bundle = await _bundle(context, around)
    metadata = bundle.metadata if bundle is not None else await _metadata_directory(context)
    return metadata, await _openapi(context, bundle, around)


def _server(settings: ServerSettings, around: Surroundings) -> ManagedServer:
    from homeostat.operators.sync.server.client import ManagedServer

    return ManagedServer(settings, around.scrubber)


async def _metadata_directory(context: JsonObject) -> Directory | None:
    block = context.get("metadata", {})
    if not block.get("baseDir"):
        return None
    path = Path(block["baseDir"])
    return None if path == base_directory(context) else await FileRepository(path).load("/", is_recursive=True)


async def _bundle(context: JsonObject, around: Surroundings) -> Bundle | None:
    block = context.get("metadata", {})
    reference = block.get("bundle") or block.get("bundleFile")
    if not reference:
        return None
    from homeostat.external.oci.keychain import docker_keychain
    from homeostat.operators.sync.context.bundle import bundle_cache, fetch_bundle

    proxies, cache = proxies_of(block.get("proxy"), around), bundle_cache(around.environment)
    return await fetch_bundle(reference, proxies, keychain=docker_keychain(around.environment), cache=cache)


async def _openapi(context: JsonObject, bundle: Bundle | None, around: Surroundings) -> OpenApi | None:
    """The context's own, else that of the bundle."""
    http = context.get("managedService", {}).get("http", {})
    where = http.get("openapi")
    if not where:
        return OpenApi(yaml.load(bundle.openapi)) if bundle is not None and bundle.openapi is not None else None
    if where.startswith("https://"):
        from homeostat.operators.sync.context.bundle import download

        data = await download(where, proxies_of(http.get("proxy"), around), largest=MAX_BYTES)
    elif where.startswith("http://"):
        raise ValidationError("managedService.http.openapi is a plain http address; expected a file or https")
    else:
        data = await asyncio.to_thread(
            read_file, Path(where.removeprefix("file://")), noun="the OpenAPI document", most=MAX_BYTES
        )
    return OpenApi(yaml.load(data))
