"""The admission plugins that every API server has: they complete Pods and enforce limits. See the modules beside it."""

from __future__ import annotations

from homeostat.objects.json import JsonObject
from homeostat.server.admission.plugins.priority import RESOURCE as PRIORITY_CLASSES
from homeostat.server.admission.plugins.priority import Priorities, keep_priority
from homeostat.server.admission.plugins.tolerations import tolerate_outages
from homeostat.server.request.call import Call
from homeostat.store.base import Store

COMPLETED = frozenset({"pods", PRIORITY_CLASSES})
"""Resources whose writes the plugins complete or refuse, whatever is configured."""


class Plugins:
    def __init__(self) -> None:
        self._priorities = Priorities()

    async def follow(self, store: Store) -> None:
        await self._priorities.follow(store)

    def complete(self, call: Call, obj: JsonObject, old: JsonObject | None) -> None:
        """Set what the plugins set, before webhooks see the object. In place."""
        if call.subresource:
            return
        match call.kind.resource:
            case "pods":
                self._complete_pod(call, obj, old)
            case _:
                self._priorities.check_class(call, obj)

    def _complete_pod(self, call: Call, pod: JsonObject, old: JsonObject | None) -> None:
        if not isinstance(pod.get("spec"), dict):
            return
        if old is None:
            self._priorities.complete(call, pod)
        else:
            keep_priority(pod, old)
        tolerate_outages(pod)
