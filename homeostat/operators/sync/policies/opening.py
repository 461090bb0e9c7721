"""Opens the session of one sync: the server, the secret store, the documents of the server, and the files of a commit.

What cannot be opened is a `NotOpenedError` with the reason that the condition gets.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import NamedTuple

from homeostat.external.git.access import Remote
from homeostat.external.git.errors import GitError, MissingPathError
from homeostat.external.git.repository import Repository
from homeostat.external.git.snapshot import TreeEntry
from homeostat.operators.sync.api.policy import PolicySpec
from homeostat.operators.sync.api.repository import ResourceRepository
from homeostat.operators.sync.api.server import ManagedServer
from homeostat.operators.sync.api.store import SecretStore
from homeostat.operators.sync.credentials.connections import Connections
from homeostat.operators.sync.credentials.secrets import SecretValueError
from homeostat.operators.sync.dependencies.artifacts import read_openapi
from homeostat.operators.sync.dependencies.observe import Tools, bundle_of, document_access, read_spec
from homeostat.operators.sync.engine.errors import SyncError
from homeostat.operators.sync.engine.metadata.bundle import Bundle
from homeostat.operators.sync.engine.openapi.document import OpenApi
from homeostat.operators.sync.engine.plan.changes import Plan, full_plan, plan_changes
from homeostat.operators.sync.engine.tree.directory import Directory
from homeostat.operators.sync.offload import release
from homeostat.operators.sync.policies.servers import Servers
from homeostat.operators.sync.policies.tree import changed_files, list_changed, list_files, payload_paths, read_tree
from homeostat.operators.sync.policies.world import Sync
from homeostat.operators.sync.session.session import Session
from homeostat.operators.sync.validation.overlap import source_path


class NotOpenedError(Exception):
    """`reason` is that of the condition, `event` that of the Event."""

    def __init__(self, reason: str, event: str, message: str) -> None:
        super().__init__(message)
        self.reason, self.event = reason, event


@dataclass(frozen=True, slots=True)
class Opened:
    session: Session
    scope: Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Refs:
    repository: ResourceRepository
    server: ManagedServer
    store: SecretStore


@asynccontextmanager
async def open_sync(
    spec: PolicySpec, refs: Refs, action: Sync, *, tools: Tools, servers: Servers
) -> AsyncIterator[Opened]:
    namespace = refs.server.metadata.namespace
    key = (namespace, refs.server.metadata.name)
    scrubber = servers.scrubber(key)
    connections = tools.connections(namespace, scrubber)
    async with AsyncExitStack() as stack:
        try:
            found = await _read(spec, refs, action, tools, connections)
        except (SecretValueError, GitError, SyncError) as error:
            raise NotOpenedError("RepositoryUnavailable", "RuntimeContextFailed", scrubber.scrub(str(error))) from error
        try:
            settings = await connections.server(read_spec(refs.server.spec, tools.environment)[0].http)
            server = await stack.enter_async_context(servers.use(key, settings))
            store = await connections.store(read_spec(refs.store.spec, tools.environment)[0])
            stack.push_async_callback(store.close)
        except SecretValueError as error:
            raise NotOpenedError("RepositoryUnavailable", "RuntimeContextFailed", scrubber.scrub(str(error))) from error
        except SyncError as error:
            text = scrubber.scrub(str(error))
            raise NotOpenedError("SessionBootstrapFailed", "SessionBootstrapFailed", text) from error
        session = Session({}, scrubber, server=server, store=store, openapi=found.openapi, shared=found.shared)
        stack.push_async_callback(session.jq.close)
        session.use(found.root)
        yield Opened(session, found.scope)


class _Found(NamedTuple):
    """What is read before the server is asked: files and documents."""

    scope: Plan
    root: Directory
    shared: Directory | None
    openapi: OpenApi | None


async def _read(spec: PolicySpec, refs: Refs, action: Sync, tools: Tools, connections: Connections) -> _Found:
    git = read_spec(refs.repository.spec, tools.environment)[0].git
    assert git is not None
    named = f"{refs.repository.metadata.namespace}/{refs.repository.metadata.name}"
    remote: Remote = await connections.remote(git, identity=named)
    async with tools.repositories.open(remote) as repository:
        scope, entries = await _scope(repository, spec, action)
        root = await read_tree(repository.at(action.revision), entries, scope)
    await release(entries)
    bundle, openapi = await _documents(refs.server, tools, connections)
    return _Found(scope, root, bundle.metadata if bundle is not None else None, openapi)


async def _documents(
    server: ManagedServer, tools: Tools, connections: Connections
) -> tuple[Bundle | None, OpenApi | None]:
    """The server's own OpenAPI document, else that of the bundle."""
    spec = read_spec(server.spec, tools.environment)[0]
    bundle, reference = None, bundle_of(spec)
    if reference:
        access = await document_access(server, spec, reference, connections)
        bundle = await tools.artifacts.bundle(reference, access)
    if spec.openapi is not None:
        access = await document_access(server, spec, spec.openapi.url, connections)
        return bundle, await tools.artifacts.openapi(spec.openapi.url, access)
    if bundle is None or bundle.openapi is None:
        return bundle, None
    return bundle, await asyncio.to_thread(read_openapi, bundle.openapi)


async def _entries(repository: Repository, revision: str) -> list[TreeEntry]:
    try:
        return await list_files(repository.at(revision))
    except MissingPathError:
        # The cache was emptied since the repository was polled.
        await repository.fetch(revision)
        return await list_files(repository.at(revision))


async def _scope(repository: Repository, spec: PolicySpec, action: Sync) -> tuple[Plan, list[TreeEntry]]:
    """What to sync, and the files and links of the commit that are needed for it."""
    source, revision = source_path(spec), action.revision
    if action.mode == "full":
        plan = full_plan(source, action.trigger, is_recursive=spec.source.recursive)
        return plan, await _entries(repository, revision)
    try:
        changes = await changed_files(repository, action.base, revision)
    except GitError:
        # It is no longer there after a forced push, or the server does not give single commits.
        plan = full_plan(source, f"the changes since {action.base[:12]} are unknown")
        return plan, await _entries(repository, revision)
    entries = await list_changed(repository.at(revision), source, changes)
    if entries is None:
        entries = await _entries(repository, revision)
    payloads = await asyncio.to_thread(payload_paths, entries)
    return plan_changes(source, changes, payloads.__contains__), entries
