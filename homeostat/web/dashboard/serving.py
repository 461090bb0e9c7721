"""Serves the dashboard over a client: as a face of its own, or among the routes of the REST API.

Alone, it takes the tokens of the Kubernetes API. The REST API adds its users, their logins, and the pages of resources.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Final

from homeostat.edge.handler import Handler
from homeostat.edge.reply import Reply
from homeostat.edge.routes import Routes
from homeostat.runtime.faces.face import Surroundings
from homeostat.web.dashboard.access.people import Nobody, People
from homeostat.web.dashboard.access.section import access_section
from homeostat.web.dashboard.dashboard import Dashboard
from homeostat.web.dashboard.html.layout import redirect
from homeostat.web.dashboard.login.first import DashboardFigures
from homeostat.web.dashboard.login.page import Identify, LogIn
from homeostat.web.dashboard.operators import operators_section, paused_notice
from homeostat.web.dashboard.root import ROOT
from homeostat.web.dashboard.section import Section, open_sections
from homeostat.web.dashboard.workloads.section import workloads_section
from homeostat.web.kit.answering import Answering
from homeostat.web.kit.gate import Gate, OpenGate
from homeostat.web.kit.refusal import RefusalError, refusal_reply
from homeostat.web.kit.review_gate import Kinds, ReviewGate
from homeostat.web.kit.routing import Page
from homeostat.web.kit.sessions.sessions import Sessions

SESSION_S: Final = 24 * 3600.0
"""How long a login lasts, unless the token ends before."""
_NO_TYPES: Final = Kinds(of_type=lambda *_: ("", ""), permissions={})


@asynccontextmanager
async def open_dashboard(
    given: Surroundings,
    *,
    identify: Identify,
    log_in: LogIn | None,
    people: People,
    session_s: float,
    first: Sequence[Section] = (),
) -> AsyncIterator[Dashboard]:
    """The dashboard with all sections inside the block; `first` are shown before those that operators declare."""
    client = given.client
    sections = [
        *first,
        *await open_sections(given.sections(), client, given.within),
        workloads_section(client, given.within),
        operators_section(client, given.operators, leases=given.leases, is_plane=given.redeem is not None),
        access_section(client, people),
    ]
    dashboard = Dashboard(
        sections,
        client=client,
        identify=identify,
        log_in=log_in,
        sessions=Sessions(given.private, life_s=session_s),
        redeem=given.redeem,
        data=given.data,
        within=given.within,
        notice=paused_notice() if given.are_effects_paused else None,
    )
    async with dashboard.running():
        yield dashboard


@asynccontextmanager
async def open_app(given: Surroundings) -> AsyncIterator[Handler]:
    """Opens the dashboard as a face of its own. Its root leads to Home."""
    reviews = ReviewGate(given.client, namespace=given.namespace, kinds=_NO_TYPES)
    gate: Gate = OpenGate() if given.is_open else reviews
    answering = Answering(given.figures.once(DashboardFigures))
    routes = Routes(lambda status, message: refusal_reply(RefusalError(status, message)))

    def add(method: str, pattern: str, page: Page) -> None:
        routes.add(method, pattern, answering.page(pattern, page))

    async with open_dashboard(
        given, identify=gate.identify, log_in=None, people=Nobody(given.tokens), session_s=SESSION_S
    ) as dashboard:
        dashboard.add_routes(add)
        add("GET", "/", _home)
        yield partial(answering.handle, routes)


async def _home(*_: object) -> Reply:
    return redirect(ROOT)
