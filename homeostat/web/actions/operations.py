"""The OpenAPI operations of this API, by method and pattern: the structs of requests, and the shapes of answers.

A route that is missing here appears in the document without details; a test checks that none is missing.
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
from homeostat.web.kit.openapi.document import Operation
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
        "Create a resource type", "admin", _A.TypeAnswer, 201, 400, 409, 413, 422, body=NewType, example=_TYPE
    ),
    ("GET", "/resource-types"): _op(
        "List resource types by name and version", "known", list[_A.TypeAnswer], 200, 422, query=TypeQuery
    ),
    ("GET", "/resource-types/{id}"): _op("Get a resource type", "known", _A.TypeAnswer, 200, 404, 422),
    ("GET", "/resource-types/{name}/{version}"): _op("Get a resource type by name", "known", _A.TypeAnswer, 200, 404),
    ("PUT", "/resource-types/{id}"): _op(
        "Update a resource type",
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
        "Delete a resource type that has no resources", "admin", None, 204, 404, 409, 412, 422, is_conditional=True
    ),
    ("POST", "/resources"): _op(
        "Create a resource",
        "CREATE",
        _A.ResourceAnswer,
        201,
        *(400, 409, 413, 422),
        body=Declaration,
        example=_RESOURCE,
    ),
    ("GET", "/resources"): _op(
        "List resources, newest first", "READ", list[_A.ResourceAnswer], 200, 422, query=ResourceQuery
    ),
    ("GET", "/resources/{id}"): _op("Get a resource", "READ", _A.ResourceAnswer, 200, 404, 422),
    ("PUT", "/resources/{id}"): _op(
        "Update a resource and reconcile it",
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
        "Get a resource by name", "READ", _A.ResourceAnswer, 200, 404, 409
    ),
    ("PUT", "/resources/by-name/{type}/{version}/{name}"): _op(
        "Create or update a resource by name",
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
    ("POST", "/resources/{id}/cancel"): _op("Cancel the run of a resource", "UPDATE", _A.Accepted, 202, 404, 409, 422),
    ("GET", "/resources/{id}/history"): _op(
        "List the history of a resource, newest first", "READ", list[_A.HistoryAnswer], 200, 404, 422,
        query=HistoryQuery,
    ),
    ("GET", "/resources/{id}/outputs"): _op("Get the outputs of a resource", "READ", _A.OutputsAnswer, 200, 404, 422),
    ("GET", "/resources/{id}/logs"): _op(
        "Get the log of a resource's current or last run", "READ", _A.LogsAnswer, 200, 404, 422
    ),
    ("GET", "/events"): _op(
        "Watch events of all resources", "READ", _A.EventAnswer, 200, 422, query=EventsQuery, media=STREAM
    ),
    ("GET", "/resources/{id}/events"): _op(
        "Watch events of one resource", "READ", _A.EventAnswer, 200, 404, 422, query=EventQuery, media=STREAM
    ),
}  # fmt: skip
_CLUSTER: Final[dict[Route, Operation]] = {
    ("GET", "/plugins/actions"): _op("List action plugins", "view_plugins", list[_A.PluginAnswer]),
    ("GET", "/plugins/inputs"): _op("List inputs", "view_plugins", list[_A.PluginAnswer]),
    ("GET", "/health"): _op("Check this server", "anyone", _A.Health),
    ("GET", "/cluster/health"): _op("Check the control plane", "anyone", _A.Health, 200, 503),
    ("GET", "/cluster/nodes"): _op("List instances and the leader", "admin", _A.Nodes),
}
_ACCESS: Final[dict[Route, Operation]] = {
    ("POST", "/auth/login"): _op(
        "Log in", "anyone", _A.TokenAnswer, 200, 413, 422, 429, body=LoginForm,
        example={"username": "alice", "password": "correct horse"},
    ),
    ("GET", "/auth/me"): _op("Get the current user", "known", _A.UserAnswer, 200, 404),
    ("POST", "/users"): _op(
        "Create a user", "admin", _A.UserAnswer, 201, 409, 422, body=NewUser,
        example={"username": "alice", "password": "correct horse"},
    ),
    ("GET", "/users"): _op("List users", "admin", list[_A.UserAnswer], 200, 422, query=UserFilter),
    ("POST", "/users/ldap-sync"): _op("Synchronize users from LDAP", "admin", _A.SyncAnswer, 200, 503),
    ("GET", "/users/{id}"): _op("Get a user", "admin", _A.UserAnswer, 200, 404, 422),
    ("PUT", "/users/{id}"): _op(
        "Update a user", "admin", _A.UserAnswer, 200, 404, 409, 422, body=UserChange, example={"is_admin": True}
    ),
    ("DELETE", "/users/{id}"): _op("Suspend a user", "admin", None, 204, 404, 409, 422),
    ("POST", "/custom-roles"): _op(
        "Create a role", "admin", _A.RoleAnswer, 201, 409, 422, body=NewRole, example=_ROLE
    ),
    ("GET", "/custom-roles"): _op("List roles", "admin", list[_A.RoleAnswer], 200, 422, query=PageQuery),
    ("GET", "/custom-roles/{id}"): _op("Get a role", "admin", _A.RoleAnswer, 200, 404, 422),
    ("PUT", "/custom-roles/{id}"): _op(
        "Update a role", "admin", _A.RoleAnswer, 200, 404, 409, 422, body=RoleChange, example={"name": "viewers"}
    ),
    ("DELETE", "/custom-roles/{id}"): _op("Delete a role", "admin", None, 204, 404, 409, 422),
    ("POST", "/custom-roles/{id}/permissions"): _op(
        "Add a permission to a role", "admin", _A.PermissionAnswer, 201, 404, 409, 422, body=NewPermission,
        example={"resource_type_name": "Page", "operations": ["READ"]},
    ),
    ("PUT", "/custom-roles/{id}/permissions/{permission}"): _op(
        "Update a permission", "admin", _A.PermissionAnswer, 200, 404, 409, 422, body=PermissionChange,
        example={"operations": ["READ", "UPDATE"]},
    ),
    ("DELETE", "/custom-roles/{id}/permissions/{permission}"): _op(
        "Remove a permission", "admin", None, 204, 404, 409, 422
    ),
    ("POST", "/admission-webhooks"): _op(
        "Create a webhook", "admin", _A.WebhookAnswer, 201, 409, 422, body=NewWebhook, example=_HOOK
    ),
    ("GET", "/admission-webhooks"): _op(
        "List webhooks", "view_webhooks", list[_A.WebhookAnswer], 200, 422, query=WebhookFilter
    ),
    ("GET", "/admission-webhooks/{id}"): _op("Get a webhook", "view_webhooks", _A.WebhookAnswer, 200, 404, 422),
    ("PUT", "/admission-webhooks/{id}"): _op(
        "Update a webhook", "admin", _A.WebhookAnswer, 200, 404, 409, 422, body=WebhookChange, example={"ordering": 5}
    ),
    ("DELETE", "/admission-webhooks/{id}"): _op("Delete a webhook", "admin", None, 204, 404, 409, 422),
}  # fmt: skip

OPERATIONS: Final[dict[Route, Operation]] = {
    **{(method, f"{API}{path}"): each for (method, path), each in {**_RESOURCES, **_CLUSTER, **_ACCESS}.items()},
    ("GET", "/health"): _CLUSTER["GET", "/health"],
}
