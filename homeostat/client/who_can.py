"""Reads roles and bindings, page by page, and says who may do something: with the permissions of the given client."""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from homeostat.client.base import Client
from homeostat.client.pages import Page, pages
from homeostat.objects.access.who_can import BindingObject, Grant, RoleObject, Wanted, WhoCan
from homeostat.objects.errors import ForbiddenError
from homeostat.objects.kind import Kind

_GROUP: Final = "rbac.authorization.k8s.io"
CLUSTER_ROLE: Final = Kind(_GROUP, "v1", "clusterroles", "ClusterRole", is_namespaced=False)
CLUSTER_ROLE_BINDING: Final = Kind(_GROUP, "v1", "clusterrolebindings", "ClusterRoleBinding", is_namespaced=False)
ROLE: Final = Kind(_GROUP, "v1", "roles", "Role", is_namespaced=True)
ROLE_BINDING: Final = Kind(_GROUP, "v1", "rolebindings", "RoleBinding", is_namespaced=True)
KINDS: Final = {each.kind: each for each in (CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING)}


class Answer(NamedTuple):
    grants: list[Grant]
    unread: list[str]
    """Kinds whose objects this client may not list, so that some grants may be missing."""


_roles: Final = msgspec.json.Decoder(Page[RoleObject])
_bindings: Final = msgspec.json.Decoder(Page[BindingObject])


async def who_can(client: Client, wanted: Wanted) -> Answer:
    found, unread = WhoCan(wanted), list[str]()
    places = [(CLUSTER_ROLE, CLUSTER_ROLE_BINDING, "")]
    if (scope := wanted.scope) is not None:
        places.append((ROLE, ROLE_BINDING, scope))
    for kind, _, namespace in places:
        try:
            async for roles in pages(client, kind.path(namespace), _roles):
                found.add_roles(roles)
        except ForbiddenError:
            unread.append(kind.plural)
    for _, kind, namespace in places:
        try:
            async for bindings in pages(client, kind.path(namespace), _bindings):
                found.add_bindings(bindings)
        except ForbiddenError:
            unread.append(kind.plural)
    return Answer(found.grants, unread)
