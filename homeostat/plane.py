"""The embedded control plane: store, server and in-process client in one object. The one place where both halves meet.

async with open_plane(Settings(data=Path("data"))) as plane:
    print(plane.url)
"""

from __future__ import annotations

import asyncio
import logging
import random
import secrets
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

from homeostat import __version__
from homeostat.client.base import Client
from homeostat.client.inprocess import InProcess
from homeostat.edge.limits import Limits
from homeostat.edge.reply import Reply
from homeostat.edge.server import Server, serve
from homeostat.objects.errors import AlreadyExistsError, error_of, status_of
from homeostat.objects.json import JsonObject, encode
from homeostat.operators import housekeeping
from homeostat.operators.catalog import OURS, load_operator, operator_name
from homeostat.runtime.supervisor import Supervisor
from homeostat.runtime.tracing import OFF, Tracer
from homeostat.server.accounttokens import AccountTokens
from homeostat.server.admission import AdmissionChain
from homeostat.server.app import App, refusal
from homeostat.server.authn import Authenticator
from homeostat.server.authz import Authorizer
from homeostat.server.body import parse_body
from homeostat.server.bootstrap import first_objects
from homeostat.server.call import Backend, Call
from homeostat.server.catalog import Catalog
from homeostat.server.crds import Definitions, builtin_behaviours
from homeostat.server.encode import uid_of
from homeostat.server.expiry import expire_events
from homeostat.server.kinds import Registry, builtin_kinds
from homeostat.server.kubeconfig import ClientCertificate, kubeconfig
from homeostat.server.metrics import Metrics
from homeostat.server.pages import Pages
from homeostat.server.privatefile import keep_private, make_private_directory, read_private, write_private
from homeostat.server.rbac import Rbac
from homeostat.server.reviews import Reviews
from homeostat.server.rolefeed import follow_roles
from homeostat.server.tls import Pki, PkiError, prepare_pki, renew, server_context, server_hosts
from homeostat.server.tokenrequest import answer_token_request
from homeostat.server.tokens import Tokens
from homeostat.server.uid import new_uid
from homeostat.server.user import SELF
from homeostat.server.verbs.watch import Watches
from homeostat.store.base import Key, Store, StoreError
from homeostat.store.sqlite import SqliteStore

log = logging.getLogger(__name__)

OPERATORS = frozenset({"housekeeping", *OURS})
SEALED_RESOURCES = frozenset({"secrets"})
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_TICK_S = 1.0
_EXPIRE_EVERY_S = 60.0
_RENEW_EVERY_S = 12 * 3600.0
_OPERATORS_GRACE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    data: Path
    bind: str = "127.0.0.1"
    port: int = 7443
    limits: Limits = field(default_factory=Limits)
    is_open: bool = False
    """Plain HTTP without credentials; loopback only."""
    database: Path | None = None
    """Where the objects are kept; `homeostat.db` in the data directory unless told."""
    operators: frozenset[str] = OPERATORS
    """Which operators run in the plane's process: housekeeping, and whatever `operators/catalog.py` finds by name."""


class Plane:
    """A running plane. `client` is its own, with all rights."""

    def __init__(
        self, settings: Settings, store: SqliteStore, app: App, watches: Watches, admission: AdmissionChain
    ) -> None:
        self.settings = settings
        self.store = store
        self.app = app
        self.watches = watches
        self.admission = admission
        self.client = Client(InProcess(app.handle, {"user": SELF}))
        self.server: Server | None = None

    @property
    def url(self) -> str:
        scheme = "http" if self.settings.is_open else "https"
        host = f"[{self.settings.bind}]" if ":" in self.settings.bind else self.settings.bind
        host = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104
        return f"{scheme}://{host}:{self.server.port if self.server else self.settings.port}"

    @property
    def kubeconfig_path(self) -> Path:
        return self.settings.data / "kubeconfig"


@asynccontextmanager
async def open_plane(settings: Settings, *, tracer: Tracer = OFF) -> AsyncIterator[Plane]:
    """A plane that serves until the block is left; then watches are closed and running requests finished."""
    make_private_directory(settings.data)
    database = settings.database or settings.data / "homeostat.db"
    key = _sealing_key(settings.data / "seal.key", database)
    store = await SqliteStore.open(database, sealed=SEALED_RESOURCES, key=key)
    try:
        # Behind the store's lock: a start that is refused must not renew what the running plane shows.
        pki = prepare_pki(settings.data / "pki", hosts=_hosts(settings), now=datetime.now(UTC))
        async with _running(settings, pki, store, tracer) as plane:
            yield plane
    finally:
        await store.close()


@asynccontextmanager
async def _running(settings: Settings, pki: Pki, store: SqliteStore, tracer: Tracer) -> AsyncIterator[Plane]:
    plane = await _assemble(settings, pki, store)
    await _bootstrap(plane.client)
    # Only now: a webhook that is away must not keep a plane from starting.
    await plane.admission.follow(store)
    context = None if settings.is_open else server_context(pki)
    plane.server = await serve(
        plane.app.handle,
        host=settings.bind,
        port=settings.port,
        ssl=context,
        limits=settings.limits,
        refuse=_refuse,
    )
    _write_kubeconfig(plane, pki)
    async with asyncio.TaskGroup() as tasks:
        running = [
            tasks.create_task(store.maintain()),
            tasks.create_task(_tick(plane)),
            tasks.create_task(_expire(plane)),
        ]
        if context is not None:
            running.append(tasks.create_task(_renew_certificates(plane, pki, context)))
        if "housekeeping" in settings.operators:
            authority = pki.authority.read_text()
            running.append(tasks.create_task(housekeeping.run(plane.client, authority=authority)))
        supervisor = _supervisor(plane, tracer)
        running.append(tasks.create_task(supervisor.run()))
        try:
            yield plane
        finally:
            await supervisor.stop()
            for task in running:
                task.cancel()
            # Whoever watches from inside ends before the watches do, and takes their end for no failure.
            await asyncio.wait(running, timeout=_OPERATORS_GRACE_S)
            plane.watches.close()
            await plane.server.stop(grace_s=3.0)
            await plane.admission.close()


async def _assemble(settings: Settings, pki: Pki, store: SqliteStore) -> Plane:
    registry, watches, metrics = Registry(), Watches(), Metrics()
    registry.add(builtin_kinds(builtin_behaviours(registry)))
    await Definitions(registry, watches).follow(store)
    rbac = Rbac()
    await follow_roles(store, rbac)
    authorizer = Authorizer(rbac)
    accounts = AccountTokens(pki.account_key.read_bytes(), uid_of=_uids(store), new_id=new_uid)
    authenticator = Authenticator(tokens=Tokens(settings.data / "tokens.json"), accounts=accounts, clock=time.time)

    def issue_token(call: Call) -> JsonObject:
        obj = parse_body(call)
        return answer_token_request(accounts, obj, namespace=call.namespace, name=call.name, now=time.time())

    admission = AdmissionChain(authorizer, registry)
    backend = Backend(
        store=store,
        registry=registry,
        admission=admission,
        watches=watches,
        now=lambda: datetime.now(UTC),
        new_uid=new_uid,
        random_suffix=lambda: "".join(random.choices(_SUFFIX_LETTERS, k=5)),  # noqa: S311
        require=authorizer.require,
        issue_token=issue_token,
    )
    pages = Pages(
        Catalog(registry),
        metrics,
        version=__version__,
        is_ready=lambda: [f"the store refuses writes: {store.trouble}"] if store.trouble else [],
        jwks=accounts.jwks,
        issuer=accounts.issuer,
    )
    app = App(
        backend=backend,
        authenticator=authenticator,
        authorizer=authorizer,
        reviews=Reviews(authorizer, authenticator),
        metrics=metrics,
        pages=pages.find,
        is_open=settings.is_open,
    )
    _measure(metrics, store, watches)
    return Plane(settings, store, app, watches, admission)


def _supervisor(plane: Plane, tracer: Tracer) -> Supervisor:
    names = sorted(plane.settings.operators - {"housekeeping"})
    modules = {operator_name(name): load_operator(name) for name in names}
    supervisor = Supervisor(plane.client, modules, grace_s=_OPERATORS_GRACE_S, tracer=tracer)
    plane.app.metrics.include(supervisor)
    return supervisor


def _uids(store: Store) -> Callable[[str, str, str], str | None]:
    def uid(resource: str, namespace: str, name: str) -> str | None:
        record = store.get(Key(resource, namespace, name))
        return uid_of(record) if record else None

    return uid


def _measure(metrics: Metrics, store: SqliteStore, watches: Watches) -> None:
    metrics.gauge("homeostat_watches", "Open watches", lambda: len(watches))
    metrics.gauge("homeostat_store_revision", "Newest revision", lambda: store.revision)
    metrics.gauge("homeostat_store_oldest_revision", "Oldest revision a watch may start at", lambda: store.oldest)
    metrics.gauge("homeostat_store_bytes", "Size of the database", lambda: store.database_bytes)
    metrics.gauge("homeostat_store_batches", "Commits since the start", lambda: store.counters.batches)
    metrics.gauge("homeostat_store_failures", "Commits refused since the start", lambda: store.counters.failures)
    metrics.gauge("homeostat_store_rows", "Changes committed since the start", lambda: store.counters.rows)


async def _bootstrap(client: Client) -> None:
    async def ensure(path: str, obj: JsonObject) -> None:
        try:
            await client.create(path, obj)
        except AlreadyExistsError:
            return

    await asyncio.gather(*(ensure(path, obj) for path, obj in first_objects()))


async def _tick(plane: Plane) -> None:
    while True:
        await asyncio.sleep(_TICK_S)
        plane.watches.tick()
        plane.app.deadlines.tick(asyncio.get_running_loop().time())


async def _renew_certificates(plane: Plane, pki: Pki, context: ssl.SSLContext) -> None:
    while True:
        await asyncio.sleep(_RENEW_EVERY_S)
        try:
            is_new = await asyncio.to_thread(renew, pki, context, hosts=_hosts(plane.settings), now=datetime.now(UTC))
        except (PkiError, OSError) as error:
            log.error("certificates could not be renewed", extra={"reason": str(error)})
            continue
        if is_new:
            _write_kubeconfig(plane, pki)


def _hosts(settings: Settings) -> frozenset[str]:
    return server_hosts(settings.bind, socket.gethostname())


async def _expire(plane: Plane) -> None:
    events = plane.app.backend.registry.find("", "v1", "events")
    assert events is not None
    while True:
        await asyncio.sleep(_EXPIRE_EVERY_S)
        try:
            await expire_events(plane.store, events, now=datetime.now(UTC))
        except StoreError as error:
            log.warning("old events could not be deleted", extra={"reason": str(error)})


def _refuse(code: int, message: str) -> Reply:
    error = error_of({"code": code, "message": message})
    if error.code == code:
        return refusal(error)
    # HTTP has refusals that Kubernetes has no error for.
    reason = HTTPStatus(code).phrase.replace(" ", "")
    return Reply(code, encode({**status_of(error), "reason": reason, "code": code}))


def _sealing_key(path: Path, database: Path) -> bytes:
    """The key that Secrets are sealed with; made with the database and never again, since nothing else opens them."""
    key = read_private(path)
    if key is not None:
        return key
    if database.exists():
        raise StoreError(f'"{path}" is missing, and "{database}" is sealed with it; put it back')
    return keep_private(path, secrets.token_bytes(32))


def _write_kubeconfig(plane: Plane, pki: Pki) -> None:
    from homeostat.objects import yaml

    if plane.settings.is_open:
        config = kubeconfig(plane.url)
    else:
        credential = ClientCertificate(pki.admin.read_bytes(), pki.admin.with_suffix(".key").read_bytes())
        config = kubeconfig(plane.url, authority=pki.authority.read_bytes(), credential=credential)
    write_private(plane.kubeconfig_path, yaml.dump(config))
