"""`/health`, `/cluster/health` and `/cluster/nodes`: health, and which processes run."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping

from homeostat import __version__
from homeostat.client.base import UnreachableError
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.errors import ApiError
from homeostat.objects.json import encode
from homeostat.objects.kind import LEASE
from homeostat.operators.actions.api import RESOURCE_TYPE
from homeostat.web.actions.face import Face
from homeostat.web.actions.pages.nodes import alone_body, nodes_body, read_leases
from homeostat.web.kit.callers import require_admin
from homeostat.web.kit.routing import API


class Cluster:
    def __init__(self, face: Face) -> None:
        self._face = face
        self._since = face.now()

    async def greet(self, request: Request, captured: Mapping[str, str]) -> Reply:
        ways = {"api": API, "docs": "/docs", "openapi": "/openapi.json", "dashboard": "/dashboard", "health": "/health"}
        return Reply(200, encode({"name": "homeostat", "version": __version__, **ways}))

    async def show_health(self, request: Request, captured: Mapping[str, str]) -> Reply:
        """The health of this server only."""
        return Reply(200, encode({"status": "ok", "version": __version__}))

    async def show_cluster_health(self, request: Request, captured: Mapping[str, str]) -> Reply:
        try:
            await self._face.client.fetch("GET", RESOURCE_TYPE.kind.path(""), {"limit": 1})
        except (ApiError, UnreachableError):
            return Reply(503, encode({"status": "disconnected"}))
        return Reply(200, encode({"status": "ok"}))

    async def show_nodes(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await require_admin(self._face.gate, request)
        identity, now = self._face.identity(), self._face.now()
        if not self._face.leases:
            message = alone_body(
                identity=identity, hostname=socket.gethostname(), pid=os.getpid(), since=self._since, now=now
            )
            return Reply(200, encode(message))
        try:
            leases = read_leases(await self._face.client.fetch("GET", LEASE.path(self._face.leases)))
        except (ApiError, UnreachableError):
            leases = []
        return Reply(200, encode(nodes_body(leases, identity=identity, now=now)))
