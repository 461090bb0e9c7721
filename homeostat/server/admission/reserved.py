"""Writes that operators in this process reserve for themselves, whatever a role allows.

Each reservation names a kind of the operator: who may patch the status of that kind may make the write, others get 403.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.authz import Authorizer, forbidden
from homeostat.server.request.call import Call


class Reservation(msgspec.Struct, frozen=True, kw_only=True):
    """Of every resource of the group if `resource` is empty; of names that begin with `prefix`."""

    group: str
    resource: str
    subresource: str
    prefix: str
    owner: str
    """A kind, as `resourcetypes.homeostat.dev`."""
    is_owner_namespaced: bool


class Reservations:
    def __init__(self) -> None:
        self._of_group: dict[str, tuple[Reservation, ...]] = {}

    def put(self, reservations: Iterable[Reservation]) -> None:
        for each in reservations:
            self._of_group[each.group] = (*self._of_group.get(each.group, ()), each)

    async def check(self, authorizer: Authorizer, call: Call, obj: JsonObject) -> None:
        """Raise `ForbiddenError` if the creation or change is reserved for others."""
        for each in self._of_group.get(call.kind.group, ()):
            if _covers(each, call, obj["metadata"].get("name", "")) and not await _is_owner(authorizer, each, call):
                resource, _, group = each.owner.partition(".")
                raise forbidden(
                    "its operator writes it, and relies on it; others must be allowed to patch "
                    f'"{resource}/status" in API group "{group}"',
                    resource=f"{call.kind.plural}/{call.subresource}" if call.subresource else call.kind.plural,
                    group=call.kind.group,
                    name=obj["metadata"].get("name", ""),
                )


def _covers(each: Reservation, call: Call, name: str) -> bool:
    return (
        each.subresource == call.subresource
        and each.resource in ("", call.kind.plural)
        and name.startswith(each.prefix)
    )


async def _is_owner(authorizer: Authorizer, each: Reservation, call: Call) -> bool:
    resource, _, group = each.owner.partition(".")
    # A role of the namespace, such as one with a star, says nothing of a kind that is not of a namespace.
    namespace = call.namespace if each.is_owner_namespaced else ""
    asked = Attributes(call.user, "patch", group=group, resource=resource, subresource="status", namespace=namespace)
    return (await authorizer.authorize_soon(asked)).is_allowed
