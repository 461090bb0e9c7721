"""Pod priority: the class of a new Pod becomes a number, which only the server writes.

The classes are read at each commit that changes one, so a Pod costs one look-up.
"""

from __future__ import annotations

from typing import NamedTuple

from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.kinds.builtins.members import integer, struct, text
from homeostat.server.request.call import Call
from homeostat.store.base import Record, Scope, Store
from homeostat.store.follow import follow

RESOURCE = "priorityclasses.scheduling.k8s.io"
_DEFAULT_POLICY = "PreemptLowerPriority"


class PriorityClass(NamedTuple):
    name: str = ""
    value: int = 0
    policy: str = _DEFAULT_POLICY
    is_default: bool = False


class Priorities:
    def __init__(self) -> None:
        self._classes: dict[str, PriorityClass] = {}
        self._default = PriorityClass()

    async def follow(self, store: Store) -> None:
        await follow(store, Scope(RESOURCE), put=self._put, drop=self._drop)

    def _drop(self, record: Record) -> None:
        self._classes.pop(record.key.name, None)
        self._choose()

    def _put(self, record: Record) -> None:
        obj = decode_stored(record.value)
        name, policy = record.key.name, text(obj, "preemptionPolicy") or _DEFAULT_POLICY
        self._classes[name] = PriorityClass(name, integer(obj, "value"), policy, obj.get("globalDefault") is True)
        self._choose()

    def _choose(self) -> None:
        """The default class; of several, which only a race can make, that of the lowest value."""
        defaults = [each for each in self._classes.values() if each.is_default]
        self._default = min(defaults, key=lambda each: each.value, default=PriorityClass())

    def complete(self, call: Call, pod: JsonObject) -> None:
        """Set the priority of a new Pod; 403 for an unknown class, and for a number of the client's own."""
        spec = struct(pod, "spec")
        wanted = text(spec, "priorityClassName")
        found = self._classes.get(wanted) if wanted else self._default
        if found is None:
            raise call.forbidden(f"no PriorityClass with name {wanted} was found", pod["metadata"].get("name", ""))
        for name, computed, words in (
            ("priority", found.value, "integer value of priority"),
            ("preemptionPolicy", found.policy, "string value of PreemptionPolicy"),
        ):
            if spec.get(name) is not None and spec[name] != computed:
                raise call.forbidden(
                    f"the {words} ({spec[name]}) must not be provided in pod spec; priority admission controller "
                    f"computed {computed} from the given PriorityClass name",
                    pod["metadata"].get("name", ""),
                )
        if found.name:
            spec["priorityClassName"] = found.name
        spec["priority"], spec["preemptionPolicy"] = found.value, found.policy

    def check_class(self, call: Call, new: JsonObject) -> None:
        """403 for a second default class."""
        name = new["metadata"].get("name", "")
        if new.get("globalDefault") is not True:
            return
        if self._default.name and self._default.name != name:
            raise call.forbidden(
                f"PriorityClass {self._default.name} is already marked as default. Only one default can exist", name
            )


def keep_priority(new: JsonObject, old: JsonObject) -> None:
    """An update without a priority keeps the stored one."""
    spec, former = struct(new, "spec"), struct(old, "spec")
    for name in ("priority", "preemptionPolicy"):
        if spec.get(name) is None and former.get(name) is not None:
            spec[name] = former[name]
