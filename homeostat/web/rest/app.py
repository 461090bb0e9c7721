"""The REST API of resource types and resources: from a request to an answer.

    app = rest_app(face, more=[identity.add_routes])

Errors end here: what a handler raises becomes `{"detail": ..., "request_id": ...}`, and what nobody expected becomes a
500 that says no more than the number under which the log has the rest.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Iterable
from uuid import uuid4

from homeostat.client.base import UnreachableError
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.edge.routes import Routes
from homeostat.edge.service import Answer, Handler
from homeostat.objects.errors import ApiError
from homeostat.web.rest.cluster import Cluster
from homeostat.web.rest.description import Description
from homeostat.web.rest.face import API, Face
from homeostat.web.rest.history import History
from homeostat.web.rest.plugins import PluginPages
from homeostat.web.rest.refusal import REQUEST_ID, RefusalError, refusal_of, refusal_reply
from homeostat.web.rest.resources import Resources
from homeostat.web.rest.routing import Add, AddRoutes, Page, Route
from homeostat.web.rest.types import Types

log = logging.getLogger(__name__)

_is_id = re.compile(r"[A-Za-z0-9._-]{1,128}").fullmatch


def rest_app(face: Face, *, more: Iterable[AddRoutes] = ()) -> Handler:
    routes = Routes(refuse)
    served: list[Route] = []

    def add(method: str, pattern: str, page: Page) -> None:
        routes.add(method, pattern, page)
        served.append((method, pattern))

    for add_routes in (_types(face), _resources(face), _cluster(face), *more, Description(served).add_routes):
        add_routes(add)
    return _Answering(routes)


def refuse(status: int, message: str) -> Reply:
    """What the protocol or the table of routes refuses, in the words of this API."""
    return refusal_reply(RefusalError(status, message))


class _Answering:
    def __init__(self, routes: Routes) -> None:
        self._routes = routes

    async def __call__(self, request: Request) -> Answer:
        try:
            answer = self._routes(request)
            return await answer if isinstance(answer, Awaitable) else answer
        except RefusalError as error:
            return refusal_reply(error, _request_id(request))
        except ApiError as error:
            return refusal_reply(refusal_of(error), _request_id(request))
        except UnreachableError as error:
            log.warning("the control plane cannot be reached", extra={"path": request.path, "reason": str(error)})
            unreached = RefusalError(503, "the control plane cannot be reached", (("Retry-After", "5"),))
            return refusal_reply(unreached, _request_id(request))
        except Exception:
            number = _request_id(request)
            log.exception("request failed", extra={"method": request.method, "path": request.path, "request": number})
            return refusal_reply(RefusalError(500, "this server failed on the request; its log says why"), number)


def _request_id(request: Request) -> str:
    """The caller's own, where it is one."""
    given = request.headers.get(REQUEST_ID.lower(), "")
    return given if _is_id(given) else uuid4().hex


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
    resources, history = Resources(face), History(face)

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
        add("GET", f"{API}/resources/{{id}}/history", history.show)
        add("GET", f"{API}/resources/{{id}}/outputs", resources.show_outputs)

    return add_routes


def _cluster(face: Face) -> AddRoutes:
    cluster, plugins = Cluster(face), PluginPages(face)

    def add_routes(add: Add) -> None:
        add("GET", "/", cluster.greet)
        for below in ("", API):
            add("GET", f"{below}/health", cluster.show_health)
        add("GET", f"{API}/cluster/health", cluster.show_cluster_health)
        add("GET", f"{API}/cluster/nodes", cluster.show_nodes)
        add("GET", f"{API}/plugins/actions", plugins.list_actions)
        add("GET", f"{API}/plugins/inputs", plugins.list_inputs)

    return add_routes
