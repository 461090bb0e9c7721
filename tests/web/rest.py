"""The REST API and the dashboard on a port of their own, opened as the operator declares them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from homeostat.client.base import Client
from homeostat.edge.server import Server, serve
from homeostat.operators.catalog import declared_sections
from homeostat.runtime.faces.face import Figures, Surroundings
from homeostat.runtime.faces.hosting import LIMITS
from homeostat.runtime.faces.private import PrivateSecrets
from homeostat.web.actions.app import refuse
from homeostat.web.actions.face import Face
from homeostat.web.actions.permissions import kinds_of_types
from homeostat.web.actions.plugins import Plugins
from homeostat.web.actions.serving import open_app, open_index
from homeostat.web.kit.gate import Gate
from homeostat.web.kit.review_gate import ReviewGate


@asynccontextmanager
async def open_face(client: Client, *, gate: Gate | None = None) -> AsyncIterator[Face]:
    """Without users, webhooks and events. Without a gate, it accepts tokens of the Kubernetes API."""
    async with open_index(client, namespace="default") as (index, ids):
        reviews = ReviewGate(client, namespace="default", kinds=kinds_of_types(index.plural_of))
        yield Face(client=client, namespace="default", index=index, ids=ids, gate=gate or reviews, plugins=Plugins({}))


@asynccontextmanager
async def serve_rest(
    client: Client,
    private: PrivateSecrets,
    *,
    environment: Mapping[str, str],
    is_open: bool,
    namespace: str = "default",
    figures: Figures | None = None,
    **more: Any,
) -> AsyncIterator[Server]:
    """`more` are further fields of `Surroundings`."""
    surroundings = Surroundings(
        client=client,
        private=private,
        namespace=namespace,
        environment=environment,
        is_open=is_open,
        figures=figures or Figures(lambda _: None),
        **{"identity": str, "leases": "", "sections": declared_sections, **more},
    )
    async with open_app(surroundings) as app:
        server = await serve(app, limits=LIMITS, refuse=refuse)
        try:
            yield server
        finally:
            await server.stop(grace_s=3.0)
