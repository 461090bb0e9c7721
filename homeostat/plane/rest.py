"""The REST API of resources, served from the plane's own process on a port of its own.

Every replica serves it. Promises, each tested: a plane of which nobody asks it pays no more than for a socket that
listens, and what it is made of is imported and opened when the first request comes; a port that nobody wanted and
somebody else has is told of, and the plane goes on without; what goes wrong in it is told to those who ask it, and does
not end the plane.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from homeostat.edge.limits import MIB, Limits
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.server import Answer, Handler, serve
from homeostat.objects.json import encode
from homeostat.operators.catalog import operator_name
from homeostat.plane.chores import LEASES
from homeostat.plane.plane import Plane
from homeostat.plane.settings import Rest
from homeostat.runtime.control.outcome import sole_error
from homeostat.runtime.installation import install
from homeostat.runtime.supervisor import Supervisor

if TYPE_CHECKING:
    from homeostat.web.kit.metrics import RestFigures

log = logging.getLogger(__name__)

OPERATOR = "actions"
LIMITS = Limits(body_bytes=3 * MIB, max_connections=4096)
_NAMESPACE = "default"
_GRACE_S = 3.0
_OPEN_WITHIN_S = 30.0
_AGAIN_AFTER_S = 5.0


class RestUnavailableError(Exception):
    """It was asked for and cannot be served: says why."""


@asynccontextmanager
async def rest_served(
    plane: Plane, supervisors: Sequence[Supervisor], context: ssl.SSLContext | None
) -> AsyncIterator[None]:
    """Inside the block; where it is to be, and where the operator of resources runs."""
    settings = plane.settings
    async with AsyncExitStack() as stack:
        if settings.rest is not None and OPERATOR in map(operator_name, settings.operators):
            figures = _figures(plane)
            app = OnDemand(lambda: _opened(plane, supervisors, figures))
            await _listen(stack, plane, app, context, settings.rest)
        yield


async def _listen(
    stack: AsyncExitStack, plane: Plane, app: OnDemand, context: ssl.SSLContext | None, rest: Rest
) -> None:
    try:
        server = await serve(app, host=plane.settings.bind, port=rest.port, ssl=context, limits=LIMITS, refuse=_refuse)
    except OSError as error:
        plane.rest_trouble = _told(error, f"{plane.settings.bind}:{rest.port}")
        if rest.is_required:
            raise RestUnavailableError(f"the REST API: {plane.rest_trouble}") from error
        return
    plane.rest_server = server
    await stack.enter_async_context(app.running())
    stack.push_async_callback(server.stop, grace_s=_GRACE_S)


class OnDemand:
    """Answers by what `open_app` makes, which is opened when it is first asked for, and again if it should fail."""

    def __init__(
        self, open_app: Callable[[], AbstractAsyncContextManager[Handler]], *, again_after_s: float = _AGAIN_AFTER_S
    ) -> None:
        self._open, self._again_after_s = open_app, again_after_s
        self._app: Handler | None = None
        self._wanted, self._changed = asyncio.Event(), asyncio.Event()
        self._trouble = ""

    def __call__(self, request: Request) -> Answer | Awaitable[Answer]:
        if self._app is not None:
            return self._app(request)
        self._wanted.set()
        return self._later(request)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as tasks:
            task = tasks.create_task(self._run())
            try:
                yield
            finally:
                task.cancel()

    async def _later(self, request: Request) -> Answer:
        try:
            async with asyncio.timeout(_OPEN_WITHIN_S):
                await self._changed.wait()
        except TimeoutError:
            return _refuse(503, "the REST API is still being opened")
        if self._app is None:
            return _refuse(503, f"the REST API cannot be served now: {self._trouble}")
        answer = self._app(request)
        return await answer if isinstance(answer, Awaitable) else answer

    async def _run(self) -> None:
        await self._wanted.wait()
        while True:
            try:
                async with self._open() as app:
                    self._app, self._trouble = app, ""
                    self._changed.set()
                    await asyncio.Event().wait()
            except Exception as error:
                self._app = None
                self._trouble = str(sole_error(error))
                self._changed.set()
                log.error("the REST API failed and is opened anew", extra={"reason": self._trouble}, exc_info=error)
            await asyncio.sleep(self._again_after_s)
            self._changed.clear()


@asynccontextmanager
async def _opened(
    plane: Plane, supervisors: Sequence[Supervisor], figures: Callable[[], RestFigures]
) -> AsyncIterator[Handler]:
    # Some tenths of a second of imports, which would hold up everybody else in this process.
    await asyncio.to_thread(import_module, "homeostat.web.actions.serving")
    from homeostat.operators.actions import KINDS
    from homeostat.web.actions.serving import open_rest

    def identity() -> str:
        managers = [each.manager for each in supervisors if each.name == OPERATOR and each.manager is not None]
        return managers[0].identity if managers else ""

    # The operator puts them there too, and perhaps not yet.
    await install(plane.client, KINDS)
    settings = plane.settings
    async with open_rest(
        plane.client,
        namespace=_NAMESPACE,
        environment=settings.environment,
        is_open=settings.is_open,
        identity=identity,
        leases=LEASES if settings.is_shared else "",
        figures=figures(),
    ) as app:
        yield app


def _figures(plane: Plane) -> Callable[[], RestFigures]:
    """Made once, and shown with those of the plane from then on, however often the API is opened."""

    @cache
    def made() -> RestFigures:
        from homeostat.web.kit.metrics import RestFigures

        figures = RestFigures()
        plane.app.metrics.include(figures)
        return figures

    return made


def _refuse(status: int, message: str) -> Reply:
    return Reply(status, encode({"detail": message}))


def _told(error: OSError, where: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"{where} is in use; choose another port with --rest-port"
    return f"cannot serve at {where}: {error.strerror or error}; choose another port with --rest-port"
