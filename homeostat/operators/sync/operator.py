"""The operator put together: its controllers, what wakes them, its guards and its faces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from homeostat.operators.sync.access import DASHBOARD_RULES
from homeostat.operators.sync.admission.check import Admission
from homeostat.operators.sync.admission.configuration import ENABLED as ADMISSION
from homeostat.operators.sync.admission.configuration import GUARDED, path_of
from homeostat.operators.sync.api.parts import COMPONENT, FINALIZER
from homeostat.operators.sync.api.policy import SYNC_POLICY, SyncPolicy
from homeostat.operators.sync.api.repository import RESOURCE_REPOSITORY, ResourceRepository
from homeostat.operators.sync.api.server import MANAGED_SERVER, ManagedServer
from homeostat.operators.sync.api.store import SECRET_STORE, SecretStore
from homeostat.operators.sync.api.webhook import REPOSITORY_WEBHOOK, RepositoryWebhook
from homeostat.operators.sync.dependencies.artifacts import Artifacts
from homeostat.operators.sync.dependencies.git import Repositories
from homeostat.operators.sync.dependencies.observe import Tools
from homeostat.operators.sync.dependencies.operators import (
    RepositoryOperator,
    ServerOperator,
    StoreOperator,
    WebhookOperator,
)
from homeostat.operators.sync.metrics import Series
from homeostat.operators.sync.policies.act import Actor
from homeostat.operators.sync.policies.observe import Observer
from homeostat.operators.sync.policies.operator import PolicyOperator
from homeostat.operators.sync.policies.servers import Servers
from homeostat.operators.sync.settings import NAMES, STORES, read_settings
from homeostat.operators.sync.validation.environment import LISTED, Variables
from homeostat.operators.sync.watches import BY_REF, BY_SECRET, Watches, key_of
from homeostat.runtime.cache.cache import Change
from homeostat.runtime.control.controller import Controller
from homeostat.runtime.control.reconcile import Options
from homeostat.runtime.deployment import FaceAdmission
from homeostat.runtime.description import OperatorOption
from homeostat.runtime.faces.face import Face
from homeostat.runtime.faces.section import DeclaredSection
from homeostat.runtime.setup import Setup
from homeostat.runtime.watch.predicates import generation_changed
from homeostat.runtime.watch.routes import to_indexed, to_mapped

FACES = (
    Face(
        name="sync-hooks",
        title="repository webhooks",
        prefixes=("/hooks/v1/repositorywebhooks", "/webhooks/repository"),
        alone=("/healthz",),
        pages=(("sync hooks", "/hooks/v1/repositorywebhooks"),),
        open="homeostat.web.receivers.sync:open_app",
        is_signed=True,
        rules="homeostat.web.receivers.sync:RULES",
    ),
    Face(
        name="sync-admission",
        title="admission of sync (with --sync-enable-admission)",
        prefixes=tuple(path_of(each) for each in GUARDED),
        open="homeostat.web.sync.admission:open_app",
        rules="homeostat.web.sync.admission:RULES",
        settings=(ADMISSION,),
        check="homeostat.web.sync.admission:is_enabled",
        admission=FaceAdmission(
            setting=ADMISSION, configuration="homeostat.operators.sync.admission.configuration:webhook_configuration"
        ),
    ),
)
SECTIONS = (DeclaredSection(open="homeostat.web.sync.dashboard.section:open_section", rules=DASHBOARD_RULES),)
WAKES = GUARDED
OPTIONS = (
    OperatorOption(
        name="sync-enable-admission",
        variable=ADMISSION,
        help="Serve the admission webhook of sync, for the API server of a cluster.",
    ),
    OperatorOption(
        name="sync-variables",
        variable=LISTED,
        help="Environment variables that specs of sync can read as ${NAME}: names, or PREFIX*, separated by commas.",
        metavar="NAMES",
    ),
    OperatorOption(
        name="sync-secret-files",
        variable=STORES,
        help="The directory of the files that a SecretStore can name; without it, any file of this machine.",
        metavar="DIR",
    ),
)
SETTINGS = (*NAMES, LISTED)
_LONGEST_SYNC_S: Final = 90_000.0
"""More than the largest `timeoutSeconds`, which ends a sync before."""


def check_environment(environment: Mapping[str, str]) -> None:
    """Raises `ValueError` for settings that `register` would refuse."""
    read_settings(environment, Path("/"))
    Variables(environment)


def register(setup: Setup) -> None:
    settings = read_settings(setup.environment, setup.directory)
    environment, series, servers = Variables(setup.environment), Series(), Servers()
    setup.metrics.register(series)
    tools = Tools(
        client=setup.client,
        environment=environment,
        repositories=Repositories(settings.repositories),
        artifacts=Artifacts(settings.documents),
        series=series,
        secret_files=settings.secret_files,
    )
    watches = Watches(setup, environment)
    _control_dependencies(setup, watches, tools)
    _control_policies(setup, watches, tools, servers)
    admission = Admission(setup.client, environment)
    for each in GUARDED:
        setup.guard(each, admission.guard(each))
    watches.repositories.add_handler(lambda change: _gone(change, series.forget_repository))
    watches.policies.add_handler(lambda change: _gone(change, series.forget_policy))
    gone: asyncio.Queue[tuple[str, str]] = asyncio.Queue()
    watches.servers.add_handler(lambda change: _gone(change, gone.put_nowait))

    async def close_clients() -> None:
        try:
            while True:
                await servers.forget(await gone.get())
        finally:
            await servers.close()

    setup.run(close_clients)


def _gone(change: Change[Any], forget: Callable[[tuple[str, str]], None]) -> None:
    if change.new is None:
        forget((change.namespace, change.name))


def _control_dependencies(setup: Setup, watches: Watches, tools: Tools) -> None:
    options = Options(finalizer=FINALIZER, component=COMPONENT, concurrency=16)
    repository: Controller[ResourceRepository, Any, Any] = setup.control(
        RESOURCE_REPOSITORY.kind, ResourceRepository, RepositoryOperator(tools), options, name="repository"
    )
    server: Controller[ManagedServer, Any, Any] = setup.control(
        MANAGED_SERVER.kind, ManagedServer, ServerOperator(tools), options, name="server"
    )
    store: Controller[SecretStore, Any, Any] = setup.control(
        SECRET_STORE.kind, SecretStore, StoreOperator(tools), options, name="store"
    )
    webhook: Controller[RepositoryWebhook, Any, Any] = setup.control(
        REPOSITORY_WEBHOOK.kind,
        RepositoryWebhook,
        WebhookOperator(tools, watches.repositories.cache),
        Options(component=COMPONENT),
        name="webhook",
    )
    controllers: tuple[Controller[Any, Any, Any], ...] = (repository, server, store, webhook)
    for each in controllers:
        each.also(watches.secrets, to_indexed(each.kind, each.informer.cache, BY_SECRET, key_of))
    webhook.also(
        watches.repositories,
        to_indexed(webhook.kind, watches.webhooks.cache, BY_REF, key_of),
        when=lambda change: change.old is None or change.new is None,
    )


def _control_policies(setup: Setup, watches: Watches, tools: Tools, servers: Servers) -> None:
    observer = Observer(
        watches.policies.cache,
        watches.repositories.cache,
        watches.servers.cache,
        watches.stores.cache,
        watches.secrets,
        elsewhere=watches.elsewhere,
        environment=tools.environment,
    )
    actor = Actor(tools, servers, watches.refs, setup.recorder)
    options = Options(finalizer=FINALIZER, component=COMPONENT, concurrency=32, timeout_s=_LONGEST_SYNC_S)
    kind = SYNC_POLICY.kind
    controller = setup.control(kind, SyncPolicy, PolicyOperator(observer, actor), options, name="policy")
    controller.also(watches.repositories, to_mapped(kind, watches.policies_of))
    controller.also(watches.servers, to_mapped(kind, watches.policies_of))
    controller.also(watches.stores, to_mapped(kind, watches.policies_of))
    controller.also(watches.secrets, to_mapped(kind, watches.policies_of_secret))
    controller.also(watches.policies, to_mapped(kind, watches.rivals_of), when=generation_changed)
