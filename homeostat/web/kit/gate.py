"""The interfaces of authentication and authorization: a `Gate` identifies the caller, a `Caller` knows its permissions.

    caller = await gate.identify(request)          # RefusalError 401 without valid credentials
    if not await caller.may("DatabaseCluster", "v1", "READ"): ...

`OpenGate` treats everybody on this machine as an administrator. `ReviewGate` (`review_gate.py`) accepts the bearer
tokens of the Kubernetes API. `Hooks` are called before a resource is written. A permission check may cost a request to
the API server, so it is made once for a type and not once for a resource.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

from homeostat.client.base import Client
from homeostat.edge.loopback import refusal_of
from homeostat.edge.request import Request
from homeostat.objects.json import JsonObject
from homeostat.web.kit.refusal import forbidden

Operation = Literal["CREATE", "READ", "UPDATE", "DELETE"]
SystemPermission = Literal["view_plugins", "view_webhooks", "manage_types"]
"""`manage_types` allows to create, change and delete resource types. Administrators have all permissions."""


class Question(NamedTuple):
    """The resource attributes of a SubjectAccessReview."""

    group: str
    resource: str
    verb: str
    namespace: str = ""
    name: str = ""


class Caller(Protocol):
    @property
    def id(self) -> int:
        """The number of a user of this API; 0 for other callers."""

    @property
    def username(self) -> str: ...
    @property
    def groups(self) -> tuple[str, ...]:
        """Of a user of the Kubernetes API."""

    @property
    def is_admin(self) -> bool: ...
    @property
    def is_cluster_user(self) -> bool:
        """Whether the caller is a user of the Kubernetes API."""

    def client(self, own: Client) -> Client:
        """A client of the same server with the permissions of the caller: with the caller's own token, and for an
        administrator without one the given client of this server. `RefusalError` 403 for everybody else.
        """

    async def may(self, type_name: str, type_version: str, operation: Operation) -> bool:
        """Whether the caller is allowed to do this to resources of the type; an administrator always is."""

    async def has(self, permission: SystemPermission) -> bool: ...

    async def may_read_secret(self, name: str) -> bool:
        """Whether the caller is allowed to read this Secret in the namespace of this server."""

    async def allows(self, question: Question) -> bool:
        """Whether the Kubernetes API allows the caller to do this. Roles of the REST API are about resources alone: of
        their users, administrators are allowed everything and others nothing.
        """


class Gate(Protocol):
    async def identify(self, request: Request) -> Caller:
        """`RefusalError` 401 without valid credentials (`refusal.unauthorized`)."""


class Hooks(Protocol):
    """Called after the schema was checked and before anything is written."""

    async def admit(self, operation: str, resource: JsonObject, old: JsonObject | None) -> JsonObject:
        """The spec to write, possibly changed; `RefusalError` 403 denies the write.

        `resource` and `old` are {name, resource_type_name, resource_type_version, spec}. They are not modified.
        """


class NoHooks:
    async def admit(self, operation: str, resource: JsonObject, old: JsonObject | None) -> JsonObject:
        spec: JsonObject = resource["spec"]
        return spec


class KubernetesCaller(Protocol):
    """A caller whose permissions are those of the Kubernetes API."""

    @property
    def username(self) -> str: ...
    @property
    def is_admin(self) -> bool: ...

    async def allows(self, question: Question) -> bool: ...


class KubernetesGate(Protocol):
    async def identify(self, request: Request) -> KubernetesCaller:
        """`RefusalError` 401 without valid credentials (`refusal.unauthorized`)."""


class Administrator:
    """A caller with all permissions."""

    id = 0
    groups = ()
    is_admin = True
    is_cluster_user = False

    def __init__(self, username: str) -> None:
        self.username = username

    def client(self, own: Client) -> Client:
        return own

    async def may(self, type_name: str, type_version: str, operation: Operation) -> bool:
        return True

    async def has(self, permission: SystemPermission) -> bool:
        return True

    async def may_read_secret(self, name: str) -> bool:
        return True

    async def allows(self, question: Question) -> bool:
        return True


class OpenGate:
    """Requires no credentials. For a server that listens on loopback only and serves only its own machine."""

    def __init__(self) -> None:
        self._everybody = Administrator("anonymous")

    async def identify(self, request: Request) -> Administrator:
        refused = refusal_of(request.method, request.headers)
        if refused:
            raise forbidden(refused)
        return self._everybody


def bearer_token(request: Request) -> str:
    """The token of the `Authorization` header; empty without one."""
    scheme, _, token = request.headers.get("authorization", "").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
