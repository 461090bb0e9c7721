"""Reads roles and bindings, page by page, and says who may do something: with the permissions of the given client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, Generic, NamedTuple, TypeVar

import msgspec

from homeostat.client.base import Client
from homeostat.objects.access.who_can import BindingObject, Grant, RoleObject, Wanted, WhoCan
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.kind import Kind

_GROUP: Final = "rbac.authorization.k8s.io"
CLUSTER_ROLE: Final = Kind(_GROUP, "v1", "clusterroles", "ClusterRole", is_namespaced=False)
CLUSTER_ROLE_BINDING: Final = Kind(_GROUP, "v1", "clusterrolebindings", "ClusterRoleBinding", is_namespaced=False)
ROLE: Final = Kind(_GROUP, "v1", "roles", "Role", is_namespaced=True)
ROLE_BINDING: Final = Kind(_GROUP, "v1", "rolebindings", "RoleBinding", is_namespaced=True)
KINDS: Final = {each.kind: each for each in (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING)}
_PAGE: Final = 500
T = TypeVar("T")


class Answer(NamedTuple):
    grants: list[Grant]
    unread: list[str]
    """Kinds whose objects this client may not list, so that some grants may be missing."""


class _Position(msgspec.Struct, frozen=True):
    token: str = msgspec.field(name="continue", default="")


class _Page(msgspec.Struct, Generic[T], frozen=True):
    metadata: _Position
    items: list[T] | None = None
    """null if there are none, as kube-apiserver sends it."""


_roles: Final = msgspec.json.Decoder(_Page[RoleObject])
_bindings: Final = msgspec.json.Decoder(_Page[BindingObject])


async def who_can(client: Client, wanted: Wanted) -> Answer:
    found, unread = WhoCan(wanted), list[str]()
    places = [(CLUSTER_ROLE, CLUSTER_ROLE_BINDING, "")]
    if (scope := wanted.scope) is not None:
        places.append((ROLE, ROLE_BINDING, scope))
    for kind, _, namespace in places:
        try:
            async for roles in _pages(client, kind.path(namespace), _roles):
                found.add_roles(roles)
        except ForbiddenError:
            unread.append(kind.plural)
    for _, kind, namespace in places:
        try:
            async for bindings in _pages(client, kind.path(namespace), _bindings):
                found.add_bindings(bindings)
        except ForbiddenError:
            unread.append(kind.plural)
    return Answer(found.grants, unread)


async def _pages(client: Client, path: str, decoder: msgspec.json.Decoder[_Page[T]]) -> AsyncIterator[list[T]]:
    token = ""
    while True:
        page = decoder.decode(await client.fetch("GET", path, {"limit": _PAGE, "continue": token}))
        yield page.items or []
        if not (token := page.metadata.token):
            return
        # A call in process may not wait for anything; other requests come between two pages.
        await asyncio.sleep(0)
