"""ResourceQuotas: a write that would exceed one is refused, and `status.used` changes in the commit of the write.

Promises, each with a test: two writes at the same time cannot exceed a quota together, since both would replace the
same revision of it; usage falls when an object goes; a namespace without quotas costs one look-up; no count of a large
namespace holds the event loop.

A quota counts again what is stored when its spec or its status is written, in the seconds after that, and before it
refuses anything: at most once a second. So a count that is too high (Events expire without a charge) or that a write of
the same moment escaped does not stay wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from time import monotonic
from typing import NamedTuple

from homeostat.edge.threads import in_thread
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.objects.quantity import Quantity
from homeostat.server.admission.plugins.amounts import ZERO, Amounts, amounts_of, plus, total
from homeostat.server.admission.plugins.turns import Turns
from homeostat.server.admission.plugins.usage import (
    are_counts,
    is_in_scope,
    is_overdue,
    is_scoped,
    limited_names,
    unspecified,
    usage_of,
)
from homeostat.server.kinds.builtins.members import struct
from homeostat.server.kinds.registry import Kind, Registry
from homeostat.server.request.call import Call
from homeostat.server.view.encode import draft_of
from homeostat.store.base import Key, Put, Record, Scope, Store
from homeostat.store.follow import follow

RESOURCE = "resourcequotas"
_SETTLES_S = 2.0
"""How long after a quota was written writes may still arrive that were decided without it."""
_RECOUNT_S = 1.0
"""The shortest time from the end of a count to the next one."""


class _Spec(NamedTuple):
    """The spec of a quota, and when this process first saw it."""

    spec: JsonObject
    hard: Amounts
    seen_at: float


class _Count(NamedTuple):
    revision: int
    used: Amounts
    ended_at: float


class Quotas:
    def __init__(self, registry: Registry, *, clock: Callable[[], float] = monotonic) -> None:
        self.namespaces: dict[str, set[str]] = {}
        """The names of the quotas, by namespace."""
        self.turns = Turns()
        self._registry = registry
        self._clock = clock
        self._specs: dict[Key, _Spec] = {}
        self._settled: set[Key] = set()
        self._counts: dict[Key, _Count] = {}
        """The last count of a quota by this process, and the revision of the quota at its start."""

    async def follow(self, store: Store) -> None:
        await follow(store, Scope(RESOURCE), put=self._put, drop=self._drop)

    def _drop(self, record: Record) -> None:
        key = record.key
        names = self.namespaces.get(key.namespace, set())
        names.discard(key.name)
        if not names:
            self.namespaces.pop(key.namespace, None)
        self._specs.pop(key, None)
        self._forget(key)

    def _put(self, record: Record) -> None:
        key, spec = record.key, struct(decode_stored(record.value), "spec")
        self.namespaces.setdefault(key.namespace, set()).add(key.name)
        if key not in self._specs or self._specs[key].spec != spec:
            self._specs[key] = _Spec(spec, amounts_of(struct(spec, "hard")), self._clock())
            self._forget(key)

    def _forget(self, key: Key) -> None:
        self._settled.discard(key)
        self._counts.pop(key, None)

    async def complete(self, call: Call, quota: JsonObject) -> None:
        """Set the status of a quota that is written. In place. A new one counts itself, though it is not stored yet."""
        spec = struct(quota, "spec")
        used = await _count(call, spec)
        if call.store.get(Key(RESOURCE, call.namespace, quota["metadata"].get("name", ""))) is None:
            names = limited_names(RESOURCE, amounts_of(struct(spec, "hard")))
            used = total([used, _usage(spec, RESOURCE, quota, names)])
        quota["status"] = {
            **struct(quota, "status"),
            "hard": struct(quota, "spec", "hard"),
            "used": _printed(used, quota),
        }

    def is_charged(self, call: Call, new: JsonObject | None, old: JsonObject | None) -> bool:
        """Whether the write changes anything that a quota limits, or makes a Pod, which may have to state something."""
        resource = call.kind.resource
        for name in self.namespaces.get(call.namespace, ()):
            known = self._specs[Key(RESOURCE, call.namespace, name)]
            names = limited_names(resource, known.hard)
            if names and ((old is None and resource == "pods") or _delta(known.spec, resource, new, old, names=names)):
                return True
        return False

    async def charges(self, call: Call, new: JsonObject | None, old: JsonObject | None) -> tuple[Put, ...]:
        """The quotas with the usage after this write; 403 if one would be exceeded."""
        resource = call.kind.resource
        found = []
        for name in sorted(self.namespaces.get(call.namespace, ())):
            key = Key(RESOURCE, call.namespace, name)
            record = call.store.get(key)
            if record is None or (resource == RESOURCE and name == call.name):
                continue
            changed = await self._charged(call, record, new, old)
            if changed is not None:
                found.append(Put(key, draft_of(self._kind, changed), record.revision))
        return tuple(found)

    @property
    def _kind(self) -> Kind:
        kind = self._registry.find("", "v1", RESOURCE)
        assert kind is not None
        return kind

    async def _charged(
        self, call: Call, record: Record, new: JsonObject | None, old: JsonObject | None
    ) -> JsonObject | None:
        quota = decode_stored(record.value)
        spec, resource = struct(quota, "spec"), call.kind.resource
        hard = amounts_of(struct(spec, "hard"))
        delta = _delta(spec, resource, new, old, names=limited_names(resource, hard))
        if new is not None and old is None and resource == "pods" and is_in_scope(spec, resource, new):
            self._require_specified(call, record, new, hard)
        if not delta:
            return None
        used = await self._used(call, record, quota)
        if over := _exceeded(used, delta, hard):
            used = await self._counted(call, record, quota)
            if over := _exceeded(used, delta, hard):
                raise _denied(call, record.key.name, new or {}, over=over, used=used, delta=delta, hard=hard)
        after = total([used, delta])
        if resource == "pods" and old is not None and is_overdue(old, call.now()):
            # A count may have left it out already, so the next write counts again.
            self._forget(record.key)
        status = {**struct(quota, "status"), "hard": struct(spec, "hard"), "used": _printed(after, quota)}
        return {**quota, "status": status}

    async def _used(self, call: Call, record: Record, quota: JsonObject) -> Amounts:
        key = record.key
        known = self._specs.get(key)
        if key in self._settled or known is None:
            return amounts_of(struct(quota, "status", "used"))
        last, is_late = self._counts.get(key), self._clock() - known.seen_at > _SETTLES_S
        used = await self._counted(call, record, quota)
        if is_late and self._counts.get(key) is not last and self._specs.get(key) is known:
            self._settled.add(key)
        return used

    async def _counted(self, call: Call, record: Record, quota: JsonObject) -> Amounts:
        """What is used; counted at most once a second, since that takes long in a large namespace.

        The quota is replaced at the revision of `record` only, so what changes during the count cannot go missing.
        """
        key, last = record.key, self._counts.get(record.key)
        if last is not None and self._clock() - last.ended_at < _RECOUNT_S:
            is_current = last.revision == record.revision
            return last.used if is_current else amounts_of(struct(quota, "status", "used"))
        used = await _count(call, struct(quota, "spec"))
        self._counts[key] = _Count(record.revision, used, self._clock())
        return used

    def _require_specified(self, call: Call, record: Record, pod: JsonObject, hard: Amounts) -> None:
        lacking = unspecified(pod, hard)
        if lacking:
            listed = "; ".join(f"{name} for: {','.join(containers)}" for name, containers in lacking.items())
            raise call.forbidden(f"failed quota: {record.key.name}: must specify {listed}", pod["metadata"]["name"])


async def _count(call: Call, spec: JsonObject) -> Amounts:
    """What all stored objects use. They are decoded in a thread, and only if their number is not enough."""
    store, hard = call.store, amounts_of(struct(spec, "hard"))
    numbers: Amounts = {}
    todo: list[tuple[str, set[str], Sequence[Record]]] = []
    for resource in store.resources():
        names = limited_names(resource, hard)
        if not names:
            continue
        scope = Scope(resource, call.namespace)
        if are_counts(resource, names) and not is_scoped(spec):
            numbers |= dict.fromkeys(names, Quantity(store.count(scope) * 10**9))
        elif records := store.select(scope):
            todo.append((resource, names, records))
    if not todo:
        return numbers
    return total([numbers, await in_thread(partial(_sum, spec, todo, call.now()), user=call.user.name)])


def _sum(spec: JsonObject, todo: Sequence[tuple[str, set[str], Sequence[Record]]], now: datetime) -> Amounts:
    return total(
        _usage(spec, resource, decode_stored(record.value), names, now=now)
        for resource, names, records in todo
        for record in records
    )


def _usage(
    spec: JsonObject, resource: str, obj: JsonObject | None, names: set[str], *, now: datetime | None = None
) -> Amounts:
    """What the object uses of what the quota limits."""
    if obj is None or not names or not is_in_scope(spec, resource, obj):
        return {}
    return {name: amount for name, amount in usage_of(resource, obj, now).items() if name in names}


def _delta(
    spec: JsonObject, resource: str, new: JsonObject | None, old: JsonObject | None, *, names: set[str]
) -> Amounts:
    """How a write changes the usage, without what stays as it is."""
    more, less = (_usage(spec, resource, each, names) for each in (new, old))
    changes = {name: plus(more.get(name, ZERO), less.get(name, ZERO), sign=-1) for name in {*more, *less}}
    return {name: amount for name, amount in changes.items() if amount.nanos}


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
