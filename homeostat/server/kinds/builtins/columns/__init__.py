"""What `kubectl get` shows of each built-in kind: the columns and values of kube-apiserver's own tables."""

from __future__ import annotations

from homeostat.server.kinds.builtins.columns import (
    access,
    autoscaler,
    cluster,
    device,
    event,
    network,
    pod,
    storage,
    workload,
)
from homeostat.server.kinds.builtins.columns.column import CREATED_AT, NAME, Printer

_PRINTERS: dict[tuple[str, str], Printer] = {
    key: printer
    for module in (access, autoscaler, cluster, device, event, network, pod, storage, workload)
    for key, printer in module.PRINTERS.items()
}
_OTHERS = Printer((NAME, CREATED_AT), cluster.created_at)


def printer_of(group: str, kind: str) -> Printer:
    """Built-in kinds without columns of their own show when they were created."""
    return _PRINTERS.get((group, kind), _OTHERS)
