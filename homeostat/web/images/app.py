"""The pages `/reconcile`, `/status`, `/debug`, `/health` and `/metrics`, as gitops-operator serves them.

`/reconcile` runs a pass over all Deployments and answers when it has ended. Calls that overlap share passes: there is
never more than one over a repository. Where callers need credentials, `/reconcile` requires the permission to patch
ImageUpdates, and the others the permission to read them; `/health` requires none, for probes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from homeostat.edge.handler import Answer
from homeostat.edge.loopback import is_from_other_page
from homeostat.edge.metrics.exposition import CONTENT_TYPE
from homeostat.edge.metrics.page import MetricsPage
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes
from homeostat.edge.server import Handler
from homeostat.edge.turn import shared_turn
from homeostat.operators.images.api import IMAGE_UPDATE
from homeostat.operators.images.batching.scheduler import NotLeadingError
from homeostat.operators.images.engine.annotations import Settings, Tracked
from homeostat.operators.images.engine.entry import status_lines
from homeostat.operators.images.service import ImageService
from homeostat.runtime.faces.on_demand import refuse
from homeostat.web.images.metrics import HttpFigures
from homeostat.web.kit.answering import answered
from homeostat.web.kit.gate import Gate, Operation
from homeostat.web.kit.refusal import RefusalError, forbidden
from homeostat.web.kit.routing import Page

_TEXT: Final = "text/plain; charset=utf-8"
_START_WITHIN_S: Final = 15.0
_STATUS_WITHIN_S: Final = 3.0
_POLL_EVERY_S: Final = 0.05
_AGAIN: Final = (("Retry-After", "5"),)

FindService = Callable[[], ImageService | None]
IsAsleep = Callable[[], Awaitable[bool]]


class DebugEntry(msgspec.Struct, frozen=True):
    container: str
    name: str
    namespace: str
    annotations: Mapping[str, str]
    version: str
    config: Settings


def images_app(service: FindService, is_asleep: IsAsleep, gate: Gate, figures: HttpFigures) -> Handler:
    pages = Pages(service, is_asleep, gate, figures)
    routes = Routes(refuse)
    for path, page in pages.table().items():
        routes.add("GET", path, _counted(path, page, figures))
    return routes


class Pages:
    def __init__(self, service: FindService, is_asleep: IsAsleep, gate: Gate, figures: HttpFigures) -> None:
        self._service, self._is_asleep, self._gate, self._figures = service, is_asleep, gate, figures
        self._measured: object = None
        self._metrics = MetricsPage(figures)

    def table(self) -> dict[str, Page]:
        return {
            "/reconcile": self.reconcile,
            "/status": self.status,
            "/debug": self.debug,
            "/health": self.health,
            "/metrics": self.metrics,
        }

    async def reconcile(self, request: Request, _: Mapping[str, str]) -> Answer:
        if is_from_other_page(request.headers):
            raise forbidden("a page of another server cannot start a pass")
        await self._check(request, "UPDATE")
        deadline = asyncio.get_running_loop().time() + _START_WITHIN_S
        while True:
            service = self._service()
            try:
                if service is not None:
                    return await _json_list(await service.reconcile())
                if await self._is_asleep():
                    return _json([])
                reason = "the operator images is still starting"
            except NotLeadingError as error:
                reason = str(error)
            if asyncio.get_running_loop().time() > deadline:
                raise RefusalError(503, reason, _AGAIN)
            await asyncio.sleep(_POLL_EVERY_S)

    async def status(self, request: Request, _: Mapping[str, str]) -> Answer:
        await self._check(request, "READ")
        await self._started()
        return Reply(200, b"".join(await _sliced(each.encode() for each in status_lines(self._tracked()))), _TEXT)

    async def debug(self, request: Request, _: Mapping[str, str]) -> Answer:
        await self._check(request, "READ")
        await self._started()
        return await _json_list(map(_debug_entry, self._tracked()))

    async def health(self, request: Request, _: Mapping[str, str]) -> Answer:
        return _json({"status": "ok", "tracked_deployments": len(self._tracked())})

    async def metrics(self, request: Request, _: Mapping[str, str]) -> Answer:
        await self._check(request, "READ")
        service = self._service()
        if service is not self._measured:
            self._measured = service
            self._metrics = (
                MetricsPage(self._figures) if service is None else MetricsPage(service.series, self._figures)
            )
        return Reply(200, await self._metrics.text(), CONTENT_TYPE)

    async def _started(self) -> None:
        """Waits a moment for an operator that is being started, because the first Deployment has just come."""
        deadline = asyncio.get_running_loop().time() + _STATUS_WITHIN_S
        while asyncio.get_running_loop().time() < deadline:
            service = self._service()
            if service.scheduler.is_running if service is not None else await self._is_asleep():
                return
            await asyncio.sleep(_POLL_EVERY_S)

    def _tracked(self) -> Sequence[Tracked]:
        service = self._service()
        return () if service is None else service.tracked()

    async def _check(self, request: Request, operation: Operation) -> None:
        caller = await self._gate.identify(request)
        if not await caller.may(IMAGE_UPDATE.kind.kind, IMAGE_UPDATE.kind.version, operation):
            raise forbidden(f"{caller.username} is not allowed to {operation.lower()} {IMAGE_UPDATE.kind.plural}")


def _debug_entry(tracked: Tracked) -> DebugEntry:
    return DebugEntry(
        tracked.container, tracked.label, tracked.namespace, tracked.annotations, tracked.version, tracked.settings
    )


async def _json_list(values: Iterable[object]) -> Reply:
    return Reply(200, b"[%b]" % b",".join(await _sliced(map(msgspec.json.encode, values))))


async def _sliced(parts: Iterable[bytes]) -> list[bytes]:
    """Many callers may each ask for thousands at once; none of them holds the event loop."""
    turn, found = shared_turn(), list[bytes]()
    for each in parts:
        found.append(each)
        await turn.pause()
    return found


def _json(value: object) -> Reply:
    return Reply(200, msgspec.json.encode(value))


def _counted(endpoint: str, page: Page, figures: HttpFigures) -> Page:
    async def answer(request: Request, captured: Mapping[str, str]) -> Answer:
        began = time.perf_counter()
        figures.began(request.method, endpoint)
        status = 500
        try:
            reply = await answered(page, request, captured)
            status = reply.status
            return reply
        finally:
            figures.ended(request.method, endpoint, status, time.perf_counter() - began)

    return answer
