"""Serves the faces of a process, each opened on demand, those of one address behind one listener.

    async with serve_faces(listeners, open_face, ssl=context) as served:
        print(served)

If a default port is in use, that is reported, and the process goes on without the faces of that port.
"""

from __future__ import annotations

import errno
import ssl as tls
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Final

import msgspec

from homeostat.edge.limits import MIB, Limits
from homeostat.edge.loopback import refusal_of
from homeostat.edge.request import Request
from homeostat.edge.server import Answer, Handler, serve
from homeostat.runtime.faces.face import Face, First
from homeostat.runtime.faces.listeners import FaceError, Listener, by_prefix, prefixes_of
from homeostat.runtime.faces.on_demand import OnDemand, refuse

LIMITS: Final = Limits(body_bytes=3 * MIB, max_connections=4096)
"""A body of the REST API contains a spec and a configuration of at most one MiB each."""
_MOST_TITLES = 2
_GRACE_S: Final = 3.0

OpenFace = Callable[[Face], AbstractAsyncContextManager[Handler]]
FirstOf = Callable[[Face], First | None]
"""`face.first_of` with the surroundings of the face."""


class ServedFace(msgspec.Struct, frozen=True, kw_only=True):
    face: Face
    url: str
    """Without a path; empty if the face is not served."""
    trouble: str = ""
    """Why the face is not served."""


@asynccontextmanager
async def serve_faces(
    listeners: Sequence[Listener],
    open_face: OpenFace,
    *,
    ssl: tls.SSLContext | None,
    environment: Mapping[str, str] | None = None,
    first_of: FirstOf | None = None,
) -> AsyncIterator[tuple[ServedFace, ...]]:
    """Serves during the block, and finishes running requests at its end. `environment` decides which faces are opened
    at once. `FaceError` if a required port is in use. Without TLS only this machine is served, and no web page of
    another site, apart from faces whose requests prove their sender.
    """
    async with AsyncExitStack() as stack:
        served: list[ServedFace] = []
        for listener in listeners:
            apps = {each.name: _on_demand(each, open_face, first_of) for each in listener.faces}
            served += await _listen(stack, listener, apps, ssl, environment or {})
        yield tuple(served)


def _on_demand(face: Face, open_face: OpenFace, first_of: FirstOf | None) -> OnDemand:
    open_first = partial(first_of, face) if first_of is not None and face.first is not None else None
    return OnDemand(face.title, partial(open_face, face), open_first=open_first)


async def _listen(
    stack: AsyncExitStack,
    listener: Listener,
    apps: Mapping[str, OnDemand],
    ssl: tls.SSLContext | None,
    environment: Mapping[str, str],
) -> list[ServedFace]:
    prefixes, place = prefixes_of(listener.faces), listener.place
    local = frozenset(face.name for face in listener.faces if ssl is None and not face.is_signed)

    def route(request: Request) -> Answer | Awaitable[Answer]:
        return route_to(apps, prefixes, request, local)

    try:
        server = await serve(route, host=place.host, port=place.port, ssl=ssl, limits=LIMITS, refuse=refuse)
    except OSError as error:
        trouble = _why(error, listener)
        if listener.is_required:
            titles = [f"the {face.title}" for face in listener.faces]
            if len(titles) > _MOST_TITLES:
                titles = [titles[0], f"{len(titles) - 1} others"]
            raise FaceError(f"{' and '.join(titles)}: {trouble}") from error
        return [ServedFace(face=face, url="", trouble=trouble) for face in listener.faces]
    for app in apps.values():
        await stack.enter_async_context(app.running())
    for face in listener.faces:
        if any(environment.get(each) for each in face.opened_by):
            apps[face.name].want()
    stack.push_async_callback(server.stop, grace_s=_GRACE_S)
    url = f"{'http' if ssl is None else 'https'}://{_callable(place.host)}:{server.port}"
    return [ServedFace(face=face, url=url) for face in listener.faces]


def route_to(
    apps: Mapping[str, Handler], prefixes: Mapping[str, str], request: Request, local: frozenset[str] = frozenset()
) -> Answer | Awaitable[Answer]:
    """`local` names the faces that serve this machine alone."""
    name = by_prefix(request.path, prefixes)
    app = apps.get(name)
    if app is None:
        return refuse(404, "Not Found")
    refused = refusal_of(request.method, request.headers) if name in local else ""
    return refuse(403, refused) if refused else app(request)


def _callable(host: str) -> str:
    """An address that a client on this machine can connect to."""
    host = f"[{host}]" if ":" in host else host
    return {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}.get(host, host)  # noqa: S104


def _why(error: OSError, listener: Listener) -> str:
    where = f"{listener.place.host}:{listener.place.port}"
    if error.errno == errno.EADDRINUSE:
        return f"{where} is in use; choose another port with {listener.option}"
    return f"cannot serve at {where}: {error.strerror or error}; choose another port with {listener.option}"
