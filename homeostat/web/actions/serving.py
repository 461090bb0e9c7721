"""Serves the REST API over a client: beside a cluster, or from the plane's own process."""

from __future__ import annotations

import asyncio
import ssl as tls
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Final

from homeostat.client.base import Client
from homeostat.edge.limits import MIB, Limits
from homeostat.edge.server import Handler, Server, serve
from homeostat.operators.catalog import declared_sections
from homeostat.runtime.control.failure_conditions import sole_error
from homeostat.runtime.faces.face import Redeem, Surroundings, TokenFacts
from homeostat.runtime.faces.private import PrivateSecrets
from homeostat.runtime.telemetry.state import ReadStates
from homeostat.web.actions.app import refuse, rest_app
from homeostat.web.actions.dashboard.people import People
from homeostat.web.actions.dashboard.section import resource_section
from homeostat.web.actions.events.pages import open_events
from homeostat.web.actions.face import Face
from homeostat.web.actions.heartbeat import beating
from homeostat.web.actions.index.index import ResourceIndex
from homeostat.web.actions.index.numbering import number_objects
from homeostat.web.actions.permissions import kinds_of_types
from homeostat.web.actions.plugins import Plugins
from homeostat.web.actions.webhooks.admission import open_hooks
from homeostat.web.dashboard.access.section import access_section
from homeostat.web.dashboard.dashboard import Dashboard
from homeostat.web.dashboard.operators import operators_section
from homeostat.web.dashboard.section import open_sections
from homeostat.web.identity.identity import open_identity
from homeostat.web.kit.gate import Gate, OpenGate
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.records.ids import Ids
from homeostat.web.kit.review_gate import ReviewGate

GRACE_S: Final = 3.0
LIMITS: Final = Limits(body_bytes=3 * MIB, max_connections=4096)
"""A body contains a spec and a configuration of at most one MiB each."""


@asynccontextmanager
async def open_index(client: Client, *, namespace: str) -> AsyncIterator[tuple[ResourceIndex, Ids]]:
    """Watches types and resources inside the block, and assigns numbers to those that have none."""
    index = ResourceIndex(client, namespace=namespace)
    ids = Ids(client, namespace=namespace, floor=_floor(index))
    async with asyncio.TaskGroup() as tasks:
        running = [tasks.create_task(index.run()), tasks.create_task(number_objects(client, index, ids))]
        try:
            yield index, ids
        finally:
            for task in running:
                task.cancel()


@asynccontextmanager
async def open_face(
    client: Client, *, namespace: str, environment: Mapping[str, str], gate: Gate | None = None
) -> AsyncIterator[Face]:
    """Opens a face without users, webhooks and events. Without a gate, it accepts tokens of the Kubernetes API."""
    async with open_index(client, namespace=namespace) as (index, ids):
        yield Face(
            client=client,
            namespace=namespace,
            index=index,
            ids=ids,
            gate=gate or _review_gate(client, namespace, index),
            plugins=Plugins(environment),
        )


@asynccontextmanager
async def open_rest(
    client: Client,
    private: PrivateSecrets,
    *,
    namespace: str,
    environment: Mapping[str, str],
    is_open: bool,
    identity: Callable[[], str] = lambda: "",
    leases: str = "",
    figures: RestFigures | None = None,
    redeem: Redeem | None = None,
    operators: ReadStates = list,
    tokens: Callable[[], list[TokenFacts]] | None = None,
    within: str = "",
) -> AsyncIterator[Handler]:
    """Opens the whole API inside the block. Raises `SettingError` for an invalid environment variable."""
    figures = figures or RestFigures()
    try:
        async with AsyncExitStack() as stack:
            index, ids = await stack.enter_async_context(open_index(client, namespace=namespace))
            gate: Gate = OpenGate() if is_open else _review_gate(client, namespace, index)
            people = await stack.enter_async_context(
                open_identity(client, private, gate=gate, is_open=is_open, namespace=namespace, environment=environment)
            )
            hooks = await stack.enter_async_context(
                open_hooks(client, gate=people.gate, namespace=namespace, environment=environment)
            )
            face = Face(
                client=client,
                namespace=namespace,
                index=index,
                ids=ids,
                gate=people.gate,
                plugins=Plugins(environment),
                hooks=hooks,
                identity=identity,
                leases=leases,
            )
            if leases:
                await stack.enter_async_context(beating(client, namespace=leases, identity=identity))
            events = await stack.enter_async_context(open_events(face))
            sections = [
                resource_section(face),
                *await open_sections(declared_sections(), client, within),
                operators_section(client, operators, leases=leases),
                access_section(client, People(people.registers, tokens)),
            ]
            dashboard = Dashboard(
                sections, client=client, identify=face.identify, log_in=people.log_in, redeem=redeem, within=within
            )
            await stack.enter_async_context(dashboard.running())
            pages = [people.add_routes, hooks.add_routes, events.add_routes, dashboard.add_routes]
            figures.streams = lambda: events.count
            yield rest_app(face, more=pages, figures=figures)
    except ExceptionGroup as group:
        raise sole_error(group) from None


def _review_gate(client: Client, namespace: str, index: ResourceIndex) -> Gate:
    return ReviewGate(client, namespace=namespace, kinds=kinds_of_types(index.plural_of))


@asynccontextmanager
async def serve_rest(
    client: Client,
    private: PrivateSecrets,
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
    redeem: Redeem | None = None,
    operators: ReadStates = list,
    tokens: Callable[[], list[TokenFacts]] | None = None,
    within: str = "",
) -> AsyncIterator[Server]:
    """Serves inside the block, and finishes current requests at its end. Raises `OSError` if it cannot listen, and the
    errors of `open_rest`.
    """
    async with open_rest(
        client,
        private,
        namespace=namespace,
        environment=environment,
        is_open=is_open,
        identity=identity,
        leases=leases,
        figures=figures,
        redeem=redeem,
        operators=operators,
        tokens=tokens,
        within=within,
    ) as app:
        server = await serve(app, host=host, port=port, ssl=ssl, limits=LIMITS, refuse=refuse)
        try:
            yield server
        finally:
            await server.stop(grace_s=GRACE_S)


@asynccontextmanager
async def open_app(surroundings: Surroundings) -> AsyncIterator[Handler]:
    """Opens the face that the operator declares."""
    async with open_rest(
        surroundings.client,
        surroundings.private,
        namespace=surroundings.namespace,
        environment=surroundings.environment,
        is_open=surroundings.is_open,
        identity=surroundings.identity,
        leases=surroundings.leases,
        figures=surroundings.figures.once(RestFigures),
        redeem=surroundings.redeem,
        operators=surroundings.operators,
        tokens=surroundings.tokens,
        within=surroundings.within,
    ) as app:
        yield app


def _floor(index: ResourceIndex) -> Callable[[str], int]:
    """The index knows the highest numbers of types and resources; users and roles have registers of their own."""

    def floor(series: str) -> int:
        match series:
            case "resources" | "types":
                return index.highest(series)
        return 0

    return floor
