"""Serves the faces of a plane's operators from the plane's process. Every replica serves them."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from homeostat.edge.server import Handler
from homeostat.operators.catalog import declared_sections
from homeostat.operators.dashboard import NAME, with_dashboard
from homeostat.plane.background import LEASES
from homeostat.plane.plane import Plane
from homeostat.runtime.faces.face import Face, Figures, First, Surroundings, TokenFacts, first_of, opener_of
from homeostat.runtime.faces.hosting import serve_faces
from homeostat.runtime.faces.listeners import arrange
from homeostat.runtime.supervisor import Supervisor
from homeostat.server.access.tokens.file import Tokens

if TYPE_CHECKING:
    from homeostat.runtime.manager import Manager

_NAMESPACE = "default"


class _Hosted(msgspec.Struct, frozen=True):
    """The operator of a face, if it is one's, and what the face is opened with."""

    supervisor: Supervisor | None
    surroundings: Surroundings


@asynccontextmanager
async def faces_served(
    plane: Plane, supervisors: Sequence[Supervisor], context: ssl.SSLContext | None
) -> AsyncIterator[None]:
    """Serve the faces while the block runs. `FaceError` if they cannot be served as configured."""
    if plane.settings.faces is None:
        yield
        return
    choice = plane.settings.faces
    hosted = {face.name: _hosted(plane, each) for each in supervisors for face in each.description.faces}
    hosted.setdefault(NAME, _hosted(plane, None))
    faces = [face for each in supervisors for face in each.description.faces]
    # Without an operator nobody expects a port beside that of the API.
    listeners = arrange(with_dashboard(faces, own=choice.own, without=choice.without) if supervisors else faces, choice)
    environment = plane.settings.environment
    opened, first = partial(_opened, hosted), partial(_first_of, hosted)
    async with serve_faces(listeners, opened, ssl=context, environment=environment, first_of=first) as served:
        plane.faces.extend(served)
        yield


def _hosted(plane: Plane, supervisor: Supervisor | None) -> _Hosted:
    settings = plane.settings

    def manager() -> Manager | None:
        return supervisor.manager if supervisor is not None else None

    surroundings = Surroundings(
        client=plane.client,
        namespace=_NAMESPACE,
        environment=settings.environment,
        is_open=settings.is_open,
        identity=lambda: found.identity if (found := manager()) is not None else "",
        leases=LEASES if settings.is_shared else "",
        private=plane.private,
        offered=lambda face: found.offered(face) if (found := manager()) is not None else None,
        sections=declared_sections,
        has_dashboard=settings.faces is None or NAME not in settings.faces.without,
        operators=lambda: [state for each in plane.supervisors for state in each.states()],
        are_effects_paused=plane.are_effects_paused,
        tokens=lambda: _tokens(plane),
        data=settings.data,
        redeem=plane.sign_in.redeem,
        figures=Figures(plane.app.metrics.include),
    )
    return _Hosted(supervisor, surroundings)


def _tokens(plane: Plane) -> list[TokenFacts]:
    return [
        TokenFacts(id=each.id, user=each.user, groups=each.groups, created=each.created, expires=each.expires)
        for each in Tokens(plane.settings.data / "tokens.json").list()
    ]


def _first_of(hosted: dict[str, _Hosted], face: Face) -> First | None:
    return first_of(face, hosted[face.name].surroundings)


@asynccontextmanager
async def _opened(hosted: dict[str, _Hosted], face: Face) -> AsyncIterator[Handler]:
    # The imports take some tenths of a second, which would block the event loop.
    open_app = await asyncio.to_thread(opener_of, face)
    found = hosted[face.name]
    if found.supervisor is not None:
        await found.supervisor.installed()
    async with open_app(found.surroundings) as app:
        yield app
