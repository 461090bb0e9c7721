"""What each page of this API takes and answers, by method and pattern: the structs that the pages read with, and the
shapes of their answers. A route that is not here is told of without particulars; a test says that there is none.
"""

from __future__ import annotations

from typing import Any, Final

from homeostat.web.actions import answers
from homeostat.web.actions.events.pages import EventQuery, EventsQuery
from homeostat.web.actions.forms import (
    Applied,
    Changed,
    ChangedType,
    Declaration,
    Finalizers,
    Forcing,
    HistoryQuery,
    NewType,
    ResourceQuery,
    TypeQuery,
)
from homeostat.web.actions.webhooks.records import NewWebhook, WebhookChange, WebhookFilter
from homeostat.web.identity.forms import (
    NewPermission,
    NewRole,
    NewUser,
    PermissionChange,
    RoleChange,
    UserChange,
    UserFilter,
)
from homeostat.web.identity.login import LoginForm
from homeostat.web.kit.openapi import Operation
from homeostat.web.kit.pages import PageQuery
from homeostat.web.kit.routing import API, Route

STREAM: Final = "text/event-stream"
_SPEC: Final = {"path": "/index"}
_TYPE: Final = {
    "name": "Page",
    "version": "v1",
    "schema": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
}
_RESOURCE: Final = {"name": "home", "resource_type_name": "Page", "resource_type_version": "v1", "spec": _SPEC}
_HOOK: Final = {"name": "naming", "webhook_url": "https://hooks.example.com/naming", "webhook_type": "validating"}
_ROLE: Final = {"name": "readers", "permissions": [{"resource_type_name": "Page", "operations": ["READ"]}]}


def _op(summary: str, who: str, answer: Any = None, status: int = 200, *refusals: int, **more: Any) -> Operation:
    return Operation(summary, who, answer, status, refusals=refusals, **more)


_A = answers
_RESOURCES: Final[dict[Route, Operation]] = {
    ("POST", "/resource-types"): _op(
        "Declare a type of resource", "admin", _A.TypeAnswer, 201, 400, 409, 413, 422, body=NewType, example=_TYPE
    ),
    ("GET", "/resource-types"): _op(
        "List types, by name and version", "known", list[_A.TypeAnswer], 200, 422, query=TypeQuery
    ),
    ("GET", "/resource-types/{id}"): _op("Show a type", "known", _A.TypeAnswer, 200, 404, 422),
    ("GET", "/resource-types/{name}/{version}"): _op("Show a type by its name", "known", _A.TypeAnswer, 200, 404),
    ("PUT", "/resource-types/{id}"): _op(
        "Change a type",
        "admin",
        _A.TypeAnswer,
        200,
        *(400, 404, 409, 412, 413, 422),
        body=ChangedType,
        query=Forcing,
        example={"description": "A page of the site"},
        is_conditional=True,
    ),
    ("DELETE", "/resource-types/{id}"): _op(
        "Delete a type that no resource is of", "admin", None, 204, 404, 409, 412, 422, is_conditional=True
    ),
    ("POST", "/resources"): _op(
        "Declare a resource",
        "CREATE",
        _A.ResourceAnswer,
        201,
        *(400, 409, 413, 422),
        body=Declaration,
        example=_RESOURCE,
    ),
    ("GET", "/resources"): _op(
        "List resources, the newest first", "READ", list[_A.ResourceAnswer], 200, 422, query=ResourceQuery
    ),
    ("GET", "/resources/{id}"): _op("Show a resource", "READ", _A.ResourceAnswer, 200, 404, 422),
    ("PUT", "/resources/{id}"): _op(
        "Change a resource, and reconcile it",
        "UPDATE",
        _A.ResourceAnswer,
        200,
        *(400, 404, 409, 412, 413, 422),
        body=Changed,
        example={"spec": {"path": "/start"}},
        is_conditional=True,
    ),
    ("DELETE", "/resources/{id}"): _op(
        "Destroy a resource", "DELETE", _A.Accepted, 202, 404, 409, 412, 422, is_conditional=True
    ),
    ("GET", "/resources/by-name/{type}/{version}/{name}"): _op(
        "Show a resource by its name", "READ", _A.ResourceAnswer, 200, 404, 409
    ),
    ("PUT", "/resources/by-name/{type}/{version}/{name}"): _op(
        "Declare a resource, or have it say this",
        "CREATE or UPDATE",
        _A.ResourceAnswer,
        200,
        *(201, 400, 404, 409, 412, 413, 422),
        body=Applied,
        example={"spec": _SPEC},
        is_conditional=True,
    ),
    ("PUT", "/resources/{id}/finalizers"): _op(
        "Add and remove finalizers",
        "UPDATE",
        (_A.ResourceAnswer, _A.Accepted),
        200,
        *(400, 404, 409, 412, 422),
        body=Finalizers,
        example={"add": ["backups.example.com/kept"]},
        is_conditional=True,
    ),
    ("POST", "/resources/{id}/reconcile"): _op("Reconcile a resource now", "UPDATE", _A.Accepted, 202, 404, 409, 422),
    ("GET", "/resources/{id}/history"): _op(
        "What was done for a resource, the newest first", "READ", list[_A.HistoryAnswer], 200, 404, 422,
        query=HistoryQuery,
    ),
    ("GET", "/resources/{id}/outputs"): _op("What a resource has put out", "READ", _A.OutputsAnswer, 200, 404, 422),
    ("GET", "/resources/{id}/logs"): _op(
        "What the run of a resource prints, or the last one has printed", "READ", _A.LogsAnswer, 200, 404, 422
    ),
    ("GET", "/events"): _op(
        "Follow what becomes of resources", "READ", _A.EventAnswer, 200, 422, query=EventsQuery, media=STREAM
    ),
    ("GET", "/resources/{id}/events"): _op(
        "Follow what becomes of one resource", "READ", _A.EventAnswer, 200, 404, 422, query=EventQuery, media=STREAM
    ),
}  # fmt: skip
_CLUSTER: Final[dict[Route, Operation]] = {
    ("GET", "/plugins/actions"): _op("List action plugins", "view_plugins", list[_A.PluginAnswer]),
    ("GET", "/plugins/inputs"): _op("List inputs", "view_plugins", list[_A.PluginAnswer]),
    ("GET", "/health"): _op("Whether this server works", "anyone", _A.Health),
    ("GET", "/cluster/health"): _op("Whether the control plane works", "anyone", _A.Health, 200, 503),
    ("GET", "/cluster/nodes"): _op("Who works, and who leads", "admin", _A.Nodes),
}
_ACCESS: Final[dict[Route, Operation]] = {
    ("POST", "/auth/login"): _op(
        "Log in", "anyone", _A.TokenAnswer, 200, 422, 429, body=LoginForm,
        example={"username": "alice", "password": "correct horse"},
    ),
    ("GET", "/auth/me"): _op("Who one is", "known", _A.UserAnswer, 200, 404),
    ("POST", "/users"): _op(
        "Add a user", "admin", _A.UserAnswer, 201, 409, 422, body=NewUser,
        example={"username": "alice", "password": "correct horse"},
    ),
    ("GET", "/users"): _op("List users", "admin", list[_A.UserAnswer], 200, 422, query=UserFilter),
    ("POST", "/users/ldap-sync"): _op("Take over users of a directory", "admin", _A.SyncAnswer, 200, 503),
    ("GET", "/users/{id}"): _op("Show a user", "admin", _A.UserAnswer, 200, 404, 422),
    ("PUT", "/users/{id}"): _op(
        "Change a user", "admin", _A.UserAnswer, 200, 404, 409, 422, body=UserChange, example={"is_admin": True}
    ),
    ("DELETE", "/users/{id}"): _op("Suspend a user", "admin", None, 204, 404, 409, 422),
    ("POST", "/custom-roles"): _op(
        "Add a role", "admin", _A.RoleAnswer, 201, 409, 422, body=NewRole, example=_ROLE
    ),
    ("GET", "/custom-roles"): _op("List roles", "admin", list[_A.RoleAnswer], 200, 422, query=PageQuery),
    ("GET", "/custom-roles/{id}"): _op("Show a role", "admin", _A.RoleAnswer, 200, 404, 422),
    ("PUT", "/custom-roles/{id}"): _op(
        "Change a role", "admin", _A.RoleAnswer, 200, 404, 409, 422, body=RoleChange, example={"name": "viewers"}
    ),
    ("DELETE", "/custom-roles/{id}"): _op("Delete a role", "admin", None, 204, 404, 409, 422),
    ("POST", "/custom-roles/{id}/permissions"): _op(
        "Add a permission to a role", "admin", _A.PermissionAnswer, 201, 404, 409, 422, body=NewPermission,
        example={"resource_type_name": "Page", "operations": ["READ"]},
    ),
    ("PUT", "/custom-roles/{id}/permissions/{permission}"): _op(
        "Change a permission", "admin", _A.PermissionAnswer, 200, 404, 409, 422, body=PermissionChange,
        example={"operations": ["READ", "UPDATE"]},
    ),
    ("DELETE", "/custom-roles/{id}/permissions/{permission}"): _op(
        "Take a permission away", "admin", None, 204, 404, 409, 422
    ),
    ("POST", "/admission-webhooks"): _op(
        "Add a webhook", "admin", _A.WebhookAnswer, 201, 409, 422, body=NewWebhook, example=_HOOK
    ),
    ("GET", "/admission-webhooks"): _op(
        "List webhooks", "view_webhooks", list[_A.WebhookAnswer], 200, 422, query=WebhookFilter
    ),
    ("GET", "/admission-webhooks/{id}"): _op("Show a webhook", "view_webhooks", _A.WebhookAnswer, 200, 404, 422),
    ("PUT", "/admission-webhooks/{id}"): _op(
        "Change a webhook", "admin", _A.WebhookAnswer, 200, 404, 409, 422, body=WebhookChange, example={"ordering": 5}
    ),
    ("DELETE", "/admission-webhooks/{id}"): _op("Delete a webhook", "admin", None, 204, 404, 409, 422),
}  # fmt: skip

OPERATIONS: Final[dict[Route, Operation]] = {
    **{(method, f"{API}{path}"): each for (method, path), each in {**_RESOURCES, **_CLUSTER, **_ACCESS}.items()},
    ("GET", "/health"): _CLUSTER["GET", "/health"],
}
