"""Serves the REST API over a client: beside a cluster, or from the plane's own process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from homeostat.client.base import Client
from homeostat.edge.server import Handler
from homeostat.runtime.background import background
from homeostat.runtime.control.failure_conditions import sole_error
from homeostat.runtime.faces.face import Surroundings
from homeostat.web.actions.app import rest_app
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
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.serving import open_dashboard
from homeostat.web.identity.credentials.token import expiry_hours
from homeostat.web.identity.identity import open_identity
from homeostat.web.kit.gate import Gate, OpenGate
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.records.ids import Ids
from homeostat.web.kit.review_gate import ReviewGate
from homeostat.web.kit.routing import AddRoutes


@asynccontextmanager
async def open_index(client: Client, *, namespace: str) -> AsyncIterator[tuple[ResourceIndex, Ids]]:
    """Watches types and resources inside the block, and assigns numbers to those that have none."""
    index = ResourceIndex(client, namespace=namespace)
    ids = Ids(client, namespace=namespace, floor=_floor(index))
    async with background(index.run(), number_objects(client, index, ids)):
        yield index, ids


@asynccontextmanager
async def open_app(surroundings: Surroundings) -> AsyncIterator[Handler]:
    """Opens the whole API inside the block: the face that the operator declares. Raises `SettingError` for an invalid
    environment variable.
    """
    given, client, namespace = surroundings, surroundings.client, surroundings.namespace
    figures = given.figures.once(RestFigures)
    try:
        async with AsyncExitStack() as stack:
            index, ids = await stack.enter_async_context(open_index(client, namespace=namespace))
            reviews = ReviewGate(client, namespace=namespace, kinds=kinds_of_types(index.plural_of))
            gate: Gate = OpenGate() if given.is_open else reviews
            people = await stack.enter_async_context(
                open_identity(
                    client,
                    given.private,
                    gate=gate,
                    is_open=given.is_open,
                    namespace=namespace,
                    environment=given.environment,
                )
            )
            hooks = await stack.enter_async_context(
                open_hooks(client, gate=people.gate, namespace=namespace, environment=given.environment)
            )
            face = Face(
                client=client,
                namespace=namespace,
                index=index,
                ids=ids,
                gate=people.gate,
                plugins=Plugins(given.environment),
                hooks=hooks,
                identity=given.identity,
                leases=given.leases,
            )
            if given.leases:
                await stack.enter_async_context(beating(client, namespace=given.leases, identity=given.identity))
            events = await stack.enter_async_context(open_events(face))
            pages: list[AddRoutes] = [people.add_routes, hooks.add_routes, events.add_routes]
            if given.has_dashboard:
                dashboard = await stack.enter_async_context(
                    open_dashboard(
                        given,
                        identify=face.identify,
                        log_in=people.log_in,
                        people=People(people.registers, given.tokens),
                        session_s=expiry_hours(given.environment) * 3600,
                        first=[resource_section(face)],
                    )
                )
                pages.append(dashboard.add_routes)
            figures.watch_streams(lambda: events.count)
            yield rest_app(face, more=pages, figures=figures, home=ROOT if given.has_dashboard else "")
    except ExceptionGroup as group:
        raise sole_error(group) from None


def _floor(index: ResourceIndex) -> Callable[[str], int]:
    """The index knows the highest numbers of types and resources; users and roles have registers of their own."""

    def floor(series: str) -> int:
        match series:
            case "resources" | "types":
                return index.highest(series)
        return 0

    return floor
