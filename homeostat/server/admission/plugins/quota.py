"""ResourceQuotas: a write that would exceed one is refused, and `status.used` changes in the commit of the write.

Promises, each with a test: two writes at the same time cannot exceed a quota together, since both would replace the
same revision of it; usage falls when an object goes; a namespace without quotas costs one look-up.

A quota counts anew what is stored when it is written, at its first charges, and before it refuses anything. So a count
that another program wrote, or that a write of the same moment escaped, does not stay wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from homeostat.objects.json import JsonObject, decode_stored
from homeostat.objects.quantity import Quantity
from homeostat.server.admission.plugins.amounts import ZERO, Amounts, amounts_of, plus, total
from homeostat.server.admission.plugins.usage import is_in_scope, unspecified, usage_of
from homeostat.server.kinds.builtins.members import struct
from homeostat.server.kinds.registry import Kind, Registry
from homeostat.server.request.call import Call
from homeostat.server.view.encode import draft_of
from homeostat.store.base import Event, Key, Put, Record, Scope, Store

RESOURCE = "resourcequotas"
_SETTLES_S = 2.0
"""How long after a quota was written writes may still arrive that were decided without it."""
_RECOUNT_S = 1.0


class Quotas:
    def __init__(self, registry: Registry, *, clock: Callable[[], float] = monotonic) -> None:
        self.namespaces: dict[str, set[str]] = {}
        """The names of the quotas, by namespace."""
        self._registry = registry
        self._clock = clock
        self._written: dict[Key, tuple[JsonObject, float]] = {}
        self._settled: set[Key] = set()
        self._counted_at: dict[Key, float] = {}

    async def follow(self, store: Store) -> None:
        for record in store.select(Scope(RESOURCE)):
            self._put(record)
        await store.subscribe(Scope(RESOURCE), since=store.revision, deliver=self._deliver)

    def _deliver(self, event: Event) -> None:
        key = event.record.key
        if event.type != "DELETED":
            self._put(event.record)
            return
        names = self.namespaces.get(key.namespace, set())
        names.discard(key.name)
        if not names:
            self.namespaces.pop(key.namespace, None)
        self._written.pop(key, None)
        self._settled.discard(key)
        self._counted_at.pop(key, None)

    def _put(self, record: Record) -> None:
        key, spec = record.key, struct(decode_stored(record.value), "spec")
        self.namespaces.setdefault(key.namespace, set()).add(key.name)
        if key not in self._written or self._written[key][0] != spec:
            self._written[key] = (spec, self._clock())
            self._settled.discard(key)

    def complete(self, call: Call, quota: JsonObject) -> None:
        """Set the status of a quota that is written. In place."""
        used = self._counted(call.store, call.namespace, quota)
        quota["status"] = {
            **struct(quota, "status"),
            "hard": struct(quota, "spec", "hard"),
            "used": _printed(used, quota),
        }

    def charges(self, call: Call, new: JsonObject | None, old: JsonObject | None) -> tuple[Put, ...]:
        """The quotas with the usage after this write; 403 if one would be exceeded."""
        resource = call.kind.resource
        found = []
        for name in sorted(self.namespaces.get(call.namespace, ())):
            key = Key(RESOURCE, call.namespace, name)
            record = call.store.get(key)
            if record is None or (resource == RESOURCE and name == call.name):
                continue
            changed = self._charged(call, record, new, old)
            if changed is not None:
                found.append(Put(key, draft_of(self._kind, changed), record.revision))
        return tuple(found)

    @property
    def _kind(self) -> Kind:
        kind = self._registry.find("", "v1", RESOURCE)
        assert kind is not None
        return kind

    def _charged(self, call: Call, record: Record, new: JsonObject | None, old: JsonObject | None) -> JsonObject | None:
        quota = decode_stored(record.value)
        hard = amounts_of(struct(quota, "spec", "hard"))
        resource = call.kind.resource
        more, less = (_usage(quota, resource, each, hard) for each in (new, old))
        delta = {name: plus(more.get(name, ZERO), less.get(name, ZERO), sign=-1) for name in {*more, *less}}
        if new is not None and old is None and resource == "pods" and is_in_scope(struct(quota, "spec"), resource, new):
            self._require_specified(call, record, new, hard)
        if not any(each.nanos for each in delta.values()):
            return None
        used = self._used(call, record, quota)
        if over := _exceeded(used, delta, hard):
            used = self._counted_again(call, record.key, quota, used)
            if over := _exceeded(used, delta, hard):
                raise _denied(call, record.key.name, new or {}, over=over, used=used, delta=delta, hard=hard)
        after = total([used, delta])
        status = {**struct(quota, "status"), "hard": struct(quota, "spec", "hard"), "used": _printed(after, quota)}
        return {**quota, "status": status}

    def _used(self, call: Call, record: Record, quota: JsonObject) -> Amounts:
        key = record.key
        if key in self._settled:
            return amounts_of(struct(quota, "status", "used"))
        if self._clock() - self._written[key][1] > _SETTLES_S:
            self._settled.add(key)
        return self._counted(call.store, call.namespace, quota)

    def _counted_again(self, call: Call, key: Key, quota: JsonObject, used: Amounts) -> Amounts:
        """Counted before a refusal, but not for each of many: that would take long in a large namespace."""
        now = self._clock()
        if now - self._counted_at.get(key, -_RECOUNT_S) < _RECOUNT_S:
            return used
        self._counted_at[key] = now
        return self._counted(call.store, call.namespace, quota)

    def _counted(self, store: Store, namespace: str, quota: JsonObject) -> Amounts:
        """What is used by everything that is stored."""
        hard = amounts_of(struct(quota, "spec", "hard"))
        found: list[Amounts] = []
        for resource in store.resources():
            if not _concerns(resource, hard):
                continue
            records = store.select(Scope(resource, namespace))
            found += [_usage(quota, resource, decode_stored(record.value), hard) for record in records]
        return total(found)

    def _require_specified(self, call: Call, record: Record, pod: JsonObject, hard: Amounts) -> None:
        lacking = unspecified(pod, hard)
        if lacking:
            listed = "; ".join(f"{name} for: {','.join(containers)}" for name, containers in lacking.items())
            raise call.forbidden(f"failed quota: {record.key.name}: must specify {listed}", pod["metadata"]["name"])


def _concerns(resource: str, hard: Amounts) -> bool:
    if resource in ("pods", "services", "persistentvolumeclaims"):
        return True
    return f"count/{resource}" in hard or resource in hard


def _usage(quota: JsonObject, resource: str, obj: JsonObject | None, hard: Amounts) -> Amounts:
    """What the object uses of what the quota limits."""
    if obj is None or not _concerns(resource, hard) or not is_in_scope(struct(quota, "spec"), resource, obj):
        return {}
    return {name: amount for name, amount in usage_of(resource, obj).items() if name in hard}


def _exceeded(used: Amounts, delta: Amounts, hard: Amounts) -> list[str]:
    return sorted(
        name for name, more in delta.items() if more.nanos > 0 and plus(used.get(name, ZERO), more) > hard[name]
    )


def _printed(used: Amounts, quota: JsonObject) -> JsonObject:
    hard = struct(quota, "spec", "hard")
    amounts = {name: used.get(name, ZERO) for name in hard}
    return {name: str(amount if amount.nanos > 0 else Quantity(0)) for name, amount in amounts.items()}


def _denied(
    call: Call, quota: str, obj: JsonObject, *, over: list[str], used: Amounts, delta: Amounts, hard: Amounts
) -> Exception:
    asked, had, most = (",".join(f"{name}={each.get(name, ZERO)}" for name in over) for each in (delta, used, hard))
    name = struct(obj, "metadata").get("name", "")
    return call.forbidden(f"exceeded quota: {quota}, requested: {asked}, used: {had}, limited: {most}", name)
