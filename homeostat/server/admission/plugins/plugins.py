"""The admission plugins that every API server has: they complete Pods and claims, and enforce limits."""

from __future__ import annotations

from homeostat.objects.errors import invalid_object
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.admission.plugins.default_class import INGRESS_CLASSES, STORAGE_CLASSES, DefaultClass
from homeostat.server.admission.plugins.limit_range import broken_limits, set_default_resources
from homeostat.server.admission.plugins.node_taint import taint_new_node
from homeostat.server.admission.plugins.priority import RESOURCE as PRIORITY_CLASSES
from homeostat.server.admission.plugins.priority import Priorities, keep_priority
from homeostat.server.admission.plugins.quota import RESOURCE as QUOTAS
from homeostat.server.admission.plugins.quota import Quotas
from homeostat.server.admission.plugins.runtime_class import add_overhead
from homeostat.server.admission.plugins.service_account import check_ephemeral, complete_account
from homeostat.server.admission.plugins.tolerations import tolerate_outages
from homeostat.server.kinds.builtins.members import struct, structs
from homeostat.server.kinds.builtins.profiles import copy_app_armor
from homeostat.server.kinds.registry import Registry
from homeostat.server.request.call import Call
from homeostat.store.base import Record, Scope, Store
from homeostat.store.follow import follow

_INGRESSES = "ingresses.networking.k8s.io"
COMPLETED = frozenset({"pods", "nodes", "persistentvolumeclaims", _INGRESSES, PRIORITY_CLASSES, QUOTAS})
"""Resources whose writes the plugins complete or refuse, whatever is configured."""
_LIMITED = frozenset({"pods", "persistentvolumeclaims"})
_RANGES = "limitranges"


class Plugins:
    def __init__(self, registry: Registry) -> None:
        self.quotas = Quotas(registry)
        self.limits: dict[str, dict[str, list[JsonObject]]] = {}
        """The limits of the LimitRanges, by namespace and name."""
        self._priorities = Priorities()
        self._storage_class, self._ingress_class = DefaultClass(STORAGE_CLASSES), DefaultClass(INGRESS_CLASSES)

    async def follow(self, store: Store) -> None:
        await self._priorities.follow(store)
        await self._storage_class.follow(store)
        await self._ingress_class.follow(store)
        await self.quotas.follow(store)
        await follow(store, Scope(_RANGES), put=self._put_range, drop=self._drop_range)

    def _drop_range(self, record: Record) -> None:
        ranges = self.limits.get(record.key.namespace, {})
        ranges.pop(record.key.name, None)
        if not ranges:
            self.limits.pop(record.key.namespace, None)

    def _put_range(self, record: Record) -> None:
        limits = structs(struct(decode_stored(record.value), "spec"), "limits")
        self.limits.setdefault(record.key.namespace, {})[record.key.name] = limits

    def _limits_of(self, namespace: str) -> list[JsonObject]:
        return [limit for _, limits in sorted(self.limits.get(namespace, {}).items()) for limit in limits]

    def require_limits(self, call: Call, obj: JsonObject, old: JsonObject | None) -> None:
        """403 for a new Pod, a resized one or a claim beyond the limits of its namespace."""
        resource = call.kind.resource
        is_checked = call.subresource == "resize" if resource == "pods" and old is not None else not call.subresource
        if resource not in _LIMITED or not is_checked:
            return
        if old is not None and "deletionTimestamp" in old["metadata"]:
            return  # a claim from before the limits must still lose its finalizers
        if broken := broken_limits(resource, obj, self._limits_of(call.namespace)):
            said = broken[0] if len(broken) == 1 else f"[{', '.join(broken)}]"
            raise call.forbidden(said, obj["metadata"]["name"])

    async def complete(self, call: Call, obj: JsonObject, old: JsonObject | None) -> None:
        """Set what the plugins set, before webhooks see the object and after they changed it. In place."""
        if call.subresource:
            if call.kind.resource == QUOTAS and _is_recounted(obj, old):
                _check_status(call, obj)
                await self.quotas.complete(call, obj)
            elif call.subresource == "ephemeralcontainers":
                check_ephemeral(call, obj)
            return
        match call.kind.resource:
            case "pods":
                self._complete_pod(call, obj, old)
            case "nodes":
                if old is None:
                    taint_new_node(obj)
            case "persistentvolumeclaims":
                if old is None:
                    self._storage_class.complete_claim(obj)
            case resource if resource == _INGRESSES:
                if old is None:
                    self._ingress_class.complete_ingress(obj)
            case resource if resource == QUOTAS:
                if old is None or struct(obj, "spec") != struct(old, "spec"):
                    await self.quotas.complete(call, obj)
            case _:
                self._priorities.check_class(call, obj)

    def _complete_pod(self, call: Call, pod: JsonObject, old: JsonObject | None) -> None:
        if not isinstance(pod.get("spec"), dict):
            return
        if old is None:
            call.warnings.extend(copy_app_armor(pod))
            complete_account(call, pod)
            self._priorities.complete(call, pod)
            if pod["spec"].get("runtimeClassName"):
                add_overhead(call, pod)
            if call.namespace in self.limits:
                set_default_resources(pod, self._limits_of(call.namespace))
        else:
            keep_priority(pod, old)
        tolerate_outages(pod)


def _is_recounted(quota: JsonObject, old: JsonObject | None) -> bool:
    """A status that says something else of the usage or the limits is not believed."""
    return any(struct(quota, "status", each) != struct(old, "status", each) for each in ("used", "hard"))


def _check_status(call: Call, quota: JsonObject) -> None:
    """Before it is replaced: an invalid one is a mistake of who writes it."""
    # Imported with the first write of such a status, as all rules are.
    from homeostat.server.kinds.builtins.checks.quota import check_quota_status

    if causes := check_quota_status(quota):
        raise invalid_object(call.kind.kind, call.kind.group, call.name, causes)
