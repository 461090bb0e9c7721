"""Serves the REST API over a client: beside a cluster, or from the plane's own process."""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

from homeostat.client.base import Client
from homeostat.edge.limits import MIB, Limits
from homeostat.edge.server import Handler, Server, serve
from homeostat.runtime.control.outcome import sole_error
from homeostat.runtime.faces.face import Surroundings
from homeostat.web.actions.app import refuse, rest_app
from homeostat.web.actions.events.pages import open_events
from homeostat.web.actions.face import Face
from homeostat.web.actions.index.index import Book
from homeostat.web.actions.index.numbering import number_objects
from homeostat.web.actions.plugins import Plugins
from homeostat.web.actions.webhooks.admission import open_hooks
from homeostat.web.dashboard.dashboard import Dashboard
from homeostat.web.identity.identity import open_identity
from homeostat.web.kit.gate import Gate, Hooks, NoHooks, OpenGate
from homeostat.web.kit.ids import Ids
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.review_gate import ReviewGate

GRACE_S: Final = 3.0
LIMITS: Final = Limits(body_bytes=3 * MIB, max_connections=4096)
"""A body holds a spec and a configuration, of one MiB each at most."""


@asynccontextmanager
async def open_face(
    client: Client,
    *,
    namespace: str,
    environment: Mapping[str, str],
    gate: Gate | None = None,
    hooks: Hooks | None = None,
    identity: Callable[[], str] = lambda: "",
    leases: str = "",
) -> AsyncIterator[Face]:
    """Follows types and resources inside the block. Without a gate, the tokens of the Kubernetes API are taken."""
    book = Book(client, namespace=namespace)
    ids = Ids(client, namespace=namespace, floor=_floor(book))
    face = Face(
        client=client,
        namespace=namespace,
        book=book,
        ids=ids,
        gate=gate or ReviewGate(client, namespace=namespace, plural_of=book.plural_of),
        plugins=Plugins(environment),
        hooks=hooks or NoHooks(),
        identity=identity,
        leases=leases,
    )
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(book.run()), tasks.create_task(number_objects(client, book, ids))]
        try:
            yield face
        finally:
            for task in running:
                task.cancel()


@asynccontextmanager
async def open_rest(
    client: Client,
    *,
    namespace: str,
    environment: Mapping[str, str],
    is_open: bool,
    identity: Callable[[], str] = lambda: "",
    leases: str = "",
    figures: RestFigures | None = None,
) -> AsyncIterator[Handler]:
    """All of it, as long as the block is open. `SettingError` for a variable of the environment that is no good."""
    gate = OpenGate() if is_open else None
    figures = figures or RestFigures()
    try:
        async with (
            open_face(
                client, namespace=namespace, environment=environment, gate=gate, identity=identity, leases=leases
            ) as face,
            open_identity(
                client, gate=face.gate, namespace=namespace, environment=environment, is_open=is_open
            ) as people,
            open_hooks(client, gate=people.gate, namespace=namespace, environment=environment) as hooks,
            open_events(face) as events,
        ):
            face.gate, face.hooks = people.gate, hooks
            dashboard = Dashboard(face, log_in=people.log_in)
            pages = [people.add_routes, hooks.add_routes, events.add_routes, dashboard.add_routes]
            figures.streams = lambda: events.count
            yield rest_app(face, more=pages, figures=figures)
    except ExceptionGroup as group:
        raise sole_error(group) from None


@asynccontextmanager
async def serve_rest(
    client: Client,
    *,
    namespace: str,
    environment: Mapping[str, str],
    is_open: bool,
    host: str = "127.0.0.1",
    port: int = 0,
    ssl: tls.SSLContext | None = None,
    identity: Callable[[], str] = lambda: "",
    leases: str = "",
    figures: RestFigures | None = None,
) -> AsyncIterator[Server]:
    """Answers inside the block; at its end what is being answered is finished. `OSError` where it cannot listen, and
    errors as of `open_rest`.
    """
    async with open_rest(
        client,
        namespace=namespace,
        environment=environment,
        is_open=is_open,
        identity=identity,
        leases=leases,
        figures=figures,
    ) as app:
        server = await serve(app, host=host, port=port, ssl=ssl, limits=LIMITS, refuse=refuse)
        try:
            yield server
        finally:
            await server.stop(grace_s=GRACE_S)


@asynccontextmanager
async def open_app(surroundings: Surroundings) -> AsyncIterator[Handler]:
    """The face that the operator declares."""
    async with open_rest(
        surroundings.client,
        namespace=surroundings.namespace,
        environment=surroundings.environment,
        is_open=surroundings.is_open,
        identity=surroundings.identity,
        leases=surroundings.leases,
        figures=surroundings.figures.once(RestFigures),
    ) as app:
        yield app


def _floor(book: Book) -> Callable[[str], int]:
    """The book knows types and resources; users and roles are counted by those who keep them."""

    def floor(series: str) -> int:
        match series:
            case "resources" | "types":
                return book.highest(series)
        return 0

    return floor
