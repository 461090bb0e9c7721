"""Who calls and what they may do; and who has a say before a resource is written. The seams of this API.

    caller = await gate.identify(request)          # RefusalError 401 for nobody that is known
    if not await caller.may("DatabaseCluster", "v1", "READ"): ...

`OpenGate` lets in everybody on this machine as an administrator. `reviewgate.ReviewGate` takes the bearer tokens of the
Kubernetes API itself. A question may take a request, so it is asked once for a type and not once for a resource.
"""

from __future__ import annotations

from typing import Final, Literal, Protocol

from homeostat.edge.loopback import host_is_loopback, origin_is_loopback
from homeostat.edge.request import Request
from homeostat.objects.json import JsonObject
from homeostat.web.kit.refusal import forbidden

Operation = Literal["CREATE", "READ", "UPDATE", "DELETE"]
SystemPermission = Literal["view_plugins", "view_webhooks", "manage_types"]
"""`manage_types` is to create, change and delete resource types; administrators have all of them."""
OPERATIONS: Final[tuple[Operation, ...]] = ("CREATE", "READ", "UPDATE", "DELETE")


class Caller(Protocol):
    @property
    def id(self) -> int:
        """Of a user of this API; 0 for others."""

    @property
    def username(self) -> str: ...
    @property
    def is_admin(self) -> bool: ...

    async def may(self, type_name: str, type_version: str, operation: Operation) -> bool:
        """Whether they may do this to resources of the type; an administrator always may."""

    async def has(self, permission: SystemPermission) -> bool: ...


class Gate(Protocol):
    async def identify(self, request: Request) -> Caller:
        """`RefusalError` where nobody is to be let in: 401, see `refusal.unauthorized`."""


class Hooks(Protocol):
    """Asked after the schema was checked and before anything is written."""

    async def admit(self, operation: str, resource: JsonObject, old: JsonObject | None) -> JsonObject:
        """The spec to go on with; `RefusalError` 403 to stop.

        `resource` and `old` are {name, resource_type_name, resource_type_version, spec} and stay as they are.
        """


class NoHooks:
    async def admit(self, operation: str, resource: JsonObject, old: JsonObject | None) -> JsonObject:
        spec: JsonObject = resource["spec"]
        return spec


class Administrator:
    """May do everything."""

    id = 0
    is_admin = True

    def __init__(self, username: str) -> None:
        self.username = username

    async def may(self, type_name: str, type_version: str, operation: Operation) -> bool:
        return True

    async def has(self, permission: SystemPermission) -> bool:
        return True


class OpenGate:
    """No credentials: for a server that listens on loopback only, and answers to its own machine only."""

    def __init__(self) -> None:
        self._everybody = Administrator("anonymous")

    async def identify(self, request: Request) -> Caller:
        if not host_is_loopback(request.headers.get("host", "")):
            raise forbidden("this server accepts local requests only: the Host header must name this machine")
        if not origin_is_loopback(request.headers.get("origin")):
            raise forbidden("this server accepts local requests only: requests from other web sites are refused")
        return self._everybody


def bearer_token(request: Request) -> str:
    """Empty where there is none."""
    scheme, _, token = request.headers.get("authorization", "").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
