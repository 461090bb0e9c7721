"""Updates the authorizer's roles and bindings at each commit that changes them."""

from __future__ import annotations

from homeostat.objects.json import decode_stored
from homeostat.server.access.rbac.authorizer import GROUP, Rbac
from homeostat.store.base import Record, Scope, Store
from homeostat.store.follow import follow

_PLURALS = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")


async def follow_roles(store: Store, rbac: Rbac) -> None:
    def put(record: Record) -> None:
        obj = decode_stored(record.value)
        rbac.put(obj["kind"], record.key.namespace, record.key.name, obj)

    def drop(record: Record) -> None:
        rbac.remove(decode_stored(record.value)["kind"], record.key.namespace, record.key.name)

    for plural in _PLURALS:
        await follow(store, Scope(f"{plural}.{GROUP}"), put=put, drop=drop)
