"""ComponentStatuses: whether the store takes writes, for clients that still ask that way.

kube-apiserver also lists a scheduler and a controller manager, which it asks at fixed ports of its own machine. A plane
has none that it could ask.
"""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtin import BuiltinBehaviour
from homeostat.server.kinds.registry import Kind

_KIND = "ComponentStatus"
_STORE = "etcd-0"
"""The name by which clients know the store."""


def component_statuses(problem: Callable[[], str]) -> Kind:
    """The kind; `problem` returns why the store takes no writes, and is empty if it does."""

    async def compute(_namespace: str) -> list[JsonObject]:
        found = problem()
        healthy = {"type": "Healthy", "status": "False", "error": found}
        condition = healthy if found else {"type": "Healthy", "status": "True", "message": "ok"}
        return [{"kind": _KIND, "apiVersion": "v1", "metadata": {"name": _STORE}, "conditions": [condition]}]

    return Kind(
        group="",
        version="v1",
        kind=_KIND,
        plural="componentstatuses",
        namespaced=False,
        singular="componentstatus",
        list_kind=f"{_KIND}List",
        short_names=("cs",),
        verbs=("get", "list"),
        behaviour=BuiltinBehaviour("", "v1", _KIND),
        deprecation="v1 ComponentStatus is deprecated in v1.19+",
        compute=compute,
    )
