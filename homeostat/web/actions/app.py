"""Puts the routes of the REST API together.

    app = rest_app(face, more=[identity.add_routes])

The OpenAPI document is made from the same table of routes.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from homeostat.edge.handler import Handler
from homeostat.edge.reply import Reply
from homeostat.edge.routes import Routes
from homeostat.web.actions.face import Face
from homeostat.web.actions.pages.cluster import Cluster
from homeostat.web.actions.pages.history import History
from homeostat.web.actions.pages.logs import Logs
from homeostat.web.actions.pages.resources import Resources
from homeostat.web.actions.pages.types import Types
from homeostat.web.actions.plugins import PluginPages
from homeostat.web.kit.answering import Answering
from homeostat.web.kit.metrics import RestFigures
from homeostat.web.kit.openapi.routes import Description
from homeostat.web.kit.refusal import RefusalError, refusal_reply
from homeostat.web.kit.routing import API, Add, AddRoutes, Page, Route

if TYPE_CHECKING:
    from homeostat.web.kit.openapi.document import About


def rest_app(
    face: Face, *, more: Iterable[AddRoutes] = (), figures: RestFigures | None = None, home: str = ""
) -> Handler:
    """`home` is the path of the dashboard, if it is among the routes."""
    answering = Answering(figures or RestFigures())
    routes = Routes(refuse)
    served: list[Route] = []

    def add(method: str, pattern: str, page: Page) -> None:
        routes.add(method, pattern, answering.page(pattern, page))
        served.append((method, pattern))

    description = Description(served, _about, home=home)
    for add_routes in (_types(face), _resources(face), _cluster(face), *more, description.add_routes):
        add_routes(add)
    return partial(answering.handle, routes)


def _about() -> About:
    from homeostat.web.actions.operations import OPERATIONS
    from homeostat.web.kit.openapi.document import About

    about = "Resource types, resources and their history; users, roles and webhooks."
    return About("Homeostat: resources", about, OPERATIONS)


def refuse(status: int, message: str) -> Reply:
    """Formats refusals of the HTTP protocol and of the router as this API does."""
    return refusal_reply(RefusalError(status, message))


def _types(face: Face) -> AddRoutes:
    types = Types(face)

    def add_routes(add: Add) -> None:
        add("POST", f"{API}/resource-types", types.create)
        add("GET", f"{API}/resource-types", types.list)
        add("GET", f"{API}/resource-types/{{id}}", types.show)
        add("PUT", f"{API}/resource-types/{{id}}", types.change)
        add("DELETE", f"{API}/resource-types/{{id}}", types.delete)
        add("GET", f"{API}/resource-types/{{name}}/{{version}}", types.show_named)

    return add_routes


def _resources(face: Face) -> AddRoutes:
    resources, history, logs = Resources(face), History(face), Logs(face)

    def add_routes(add: Add) -> None:
        add("POST", f"{API}/resources", resources.create)
        add("GET", f"{API}/resources", resources.list)
        add("GET", f"{API}/resources/{{id}}", resources.show)
        add("PUT", f"{API}/resources/{{id}}", resources.change)
        add("DELETE", f"{API}/resources/{{id}}", resources.delete)
        add("GET", f"{API}/resources/by-name/{{type}}/{{version}}/{{name}}", resources.show_named)
        add("PUT", f"{API}/resources/by-name/{{type}}/{{version}}/{{name}}", resources.apply)
        add("PUT", f"{API}/resources/{{id}}/finalizers", resources.change_finalizers)
        add("POST", f"{API}/resources/{{id}}/reconcile", resources.reconcile)
        add("POST", f"{API}/resources/{{id}}/cancel", resources.cancel)
        add("GET", f"{API}/resources/{{id}}/history", history.show)
        add("GET", f"{API}/resources/{{id}}/outputs", resources.show_outputs)
        add("GET", f"{API}/resources/{{id}}/logs", logs.show)

    return add_routes


def _cluster(face: Face) -> AddRoutes:
    cluster, plugins = Cluster(face), PluginPages(face)

    def add_routes(add: Add) -> None:
        for above in ("/", API):
            add("GET", above, cluster.greet)
        for below in ("", API):
            add("GET", f"{below}/health", cluster.show_health)
        add("GET", f"{API}/cluster/health", cluster.show_cluster_health)
        add("GET", f"{API}/cluster/nodes", cluster.show_nodes)
        add("GET", f"{API}/plugins/actions", plugins.list_actions)
        add("GET", f"{API}/plugins/inputs", plugins.list_inputs)

    return add_routes
