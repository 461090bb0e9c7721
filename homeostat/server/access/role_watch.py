"""Updates the authorizer's roles and bindings at each commit that changes them."""

from __future__ import annotations

from homeostat.objects.json import decode_stored
from homeostat.server.access.rbac import GROUP, Rbac
from homeostat.store.base import Event, Record, Scope, Store

_PLURALS = ("roles", "clusterroles", "rolebindings", "clusterrolebindings")


async def follow_roles(store: Store, rbac: Rbac) -> None:
    def put(record: Record) -> None:
        obj = decode_stored(record.value)
        rbac.put(obj["kind"], record.key.namespace, record.key.name, obj)

    def deliver(event: Event) -> None:
        if event.type == "DELETED":
            rbac.remove(decode_stored(event.record.value)["kind"], event.record.key.namespace, event.record.key.name)
        else:
            put(event.record)

    for plural in _PLURALS:
        scope = Scope(f"{plural}.{GROUP}")
        for record in store.select(scope):
            put(record)
        await store.subscribe(scope, since=store.revision, deliver=deliver)
