"""Who sees what: a caller sees the services of the namespaces whose Pactos they may list in the Kubernetes API.

Somebody who may list all Pactos sees everything, for one review. For everybody else each namespace that has a Pacto is
reviewed; the answers are kept for some seconds (`web/kit/review_gate.py`).
"""

from __future__ import annotations

from typing import Final

import msgspec

from homeostat.edge.request import Headers, Request
from homeostat.edge.turn import map_concurrently
from homeostat.operators.contracts.api import GROUP
from homeostat.operators.contracts.engine.services.catalogue import Catalogue
from homeostat.web.contracts.index import Namespaces, ServiceIndex
from homeostat.web.kit.gate import KubernetesCaller, KubernetesGate, Question
from homeostat.web.kit.readiness import wait_ready
from homeostat.web.kit.refusal import forbidden

MOST_NAMESPACES: Final = 1000
_AT_ONCE: Final = 16


class Visibility:
    """`origin` is that of pages elsewhere that may call this API; the gate need not know it."""

    def __init__(self, index: ServiceIndex, gate: KubernetesGate, *, namespace: str, origin: str = "") -> None:
        self.index = index
        self._gate, self._namespace, self._origin = gate, namespace, origin

    async def view(self, request: Request) -> Catalogue:
        """What the caller sees. Raises `RefusalError` 401, 403 or 503."""
        caller = await self.identify(request)
        if not self.index.is_synced:
            await wait_ready(self.index.synced())
        return await self.index.view(await self._readable(caller))

    async def identify(self, request: Request) -> KubernetesCaller:
        return await self._gate.identify(self._admitted(request))

    async def require(self, request: Request, verb: str, namespace: str = "") -> KubernetesCaller:
        """Raises `RefusalError` 403 unless the caller may do this to Pactos of the namespace."""
        caller, within = await self.identify(request), namespace or self._namespace
        if not await caller.allows(Question(GROUP, "pactos", verb, within)):
            raise forbidden(
                f'{caller.username} is not allowed to {verb} pactos in the namespace "{within}"; '
                "name another one as namespace, or ask for a role that allows it"
            )
        return caller

    async def _readable(self, caller: KubernetesCaller) -> Namespaces:
        if await caller.allows(Question(GROUP, "pactos", "list")):
            return None
        there = self.index.namespaces
        if len(there) > MOST_NAMESPACES:
            raise forbidden(
                f"{caller.username} is not allowed to list the pactos of all namespaces, and more than "
                f"{MOST_NAMESPACES} namespaces have some; ask for a role that allows it"
            )
        found = frozenset(await self._allowed(caller, there))
        if not found:
            raise forbidden(f"{caller.username} is not allowed to list pactos in any namespace")
        return found

    async def _allowed(self, caller: KubernetesCaller, namespaces: list[str]) -> list[str]:
        async def is_allowed(namespace: str) -> bool:
            return await caller.allows(Question(GROUP, "pactos", "list", namespace))

        answers = await map_concurrently(is_allowed, namespaces, at_once=_AT_ONCE)
        return [each for each, allowed in zip(namespaces, answers, strict=True) if allowed]

    def _admitted(self, request: Request) -> Request:
        if not self._origin or request.headers.get("origin", "").lower() != self._origin:
            return request
        headers = Headers()
        headers.update(request.headers)
        del headers["origin"]
        return msgspec.structs.replace(request, headers=headers)
