"""The default values of kube-apiserver for built-in kinds.

`apply_defaults` is for every write; `apply_initial` for creation only, when name and uid are known. Both change the
object in place, are idempotent, and skip values of the wrong type. The addresses of Services come from
`services/allocator.py`.
"""

from __future__ import annotations

from collections.abc import Callable

from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.defaults import access, cluster, core, network, pod, storage, workload
from homeostat.server.kinds.builtins.defaults.initial import INITIAL, UPDATED

_DEFAULTS: dict[tuple[str, str], Callable[[JsonObject], None]] = {
    key: function
    for module in (access, cluster, core, network, pod, storage, workload)
    for key, function in module.DEFAULTS.items()
}


def apply_defaults(group: str, kind: str, obj: JsonObject) -> None:
    default = _DEFAULTS.get((group, kind))
    if default is not None:
        default(obj)


def apply_initial(group: str, kind: str, obj: JsonObject) -> None:
    complete = INITIAL.get((group, kind))
    if complete is not None:
        complete(obj)


def complete_update(group: str, kind: str, obj: JsonObject, old: JsonObject) -> None:
    """Set or drop what depends on the object before the write."""
    complete = UPDATED.get((group, kind))
    if complete is not None:
        complete(obj, old)
