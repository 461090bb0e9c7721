"""Which Pods a kubelet rejects that somebody has put on its Node, and its words for why. Pure.

It checks less than a scheduler: cordons and taints with the effect NoSchedule do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from homeostat.operators.workloads.api import PodSpec
from homeostat.operators.workloads.scheduling.fit import (
    NO_PORTS,
    PODS,
    UNFIT,
    Amounts,
    NodeFacts,
    host_ports,
    is_port,
    lacks_ports,
    matches_node,
    requests_of,
    tolerates,
)

SYSTEM: Final = "linux"
_SAFE_SYSCTLS: Final = {
    "kernel.shm_rmid_forced": "IPC",
    "net.ipv4.ip_local_port_range": "Net",
    "net.ipv4.ip_local_reserved_ports": "Net",
    "net.ipv4.ip_unprivileged_port_start": "Net",
    "net.ipv4.ping_group_range": "Net",
    "net.ipv4.tcp_fin_timeout": "Net",
    "net.ipv4.tcp_keepalive_intvl": "Net",
    "net.ipv4.tcp_keepalive_probes": "Net",
    "net.ipv4.tcp_keepalive_time": "Net",
    "net.ipv4.tcp_rmem": "Net",
    "net.ipv4.tcp_syncookies": "Net",
    "net.ipv4.tcp_wmem": "Net",
}
"""Those that a kubelet allows without a flag, with the namespace of the kernel that they belong to."""
_SWAPPED: Final = str.maketrans("./", "/.")
_MILLI: Final = 1_000_000
_WHOLE: Final = 1_000_000_000
_IN_ORDER: Final = {PODS: 0, "cpu": 1, "memory": 2, "ephemeral-storage": 3}
_LATER: Final = len(_IN_ORDER)


class Rejection(NamedTuple):
    reason: str
    message: str


def rejection(spec: PodSpec, node: NodeFacts, others: Iterable[PodSpec]) -> Rejection | None:
    """`others` are the Pods that run on the Node already."""
    if (why := _forbidden_sysctl(spec)) is not None:
        return Rejection("SysctlForbidden", f"forbidden sysctl: {why}")
    if spec.os is not None and spec.os.name != SYSTEM:
        return Rejection("PodOSNotSupported", "Failed to admit pod as the OS field doesn't match node OS")
    running = list(others)
    used = _sum(requests_of(each) for each in running)
    requests = sorted(requests_of(spec).items(), key=lambda each: (_IN_ORDER.get(each[0], _LATER), each[0]))
    for name, amount in requests:
        if not is_port(name) and lacks(name, amount, used.get(name, 0), node):
            return _out_of(name, amount, used.get(name, 0), node.allocatable.get(name, 0))
    if not matches_node(spec, node.labels, node.name):
        return _failed("NodeAffinity", UNFIT)
    if lacks_ports(spec, running):
        return _failed("NodePorts", NO_PORTS)
    if _is_repelled(spec, node):
        return _failed("TaintToleration", "node(s) had taints that the pod didn't tolerate")
    return None


def may_be_rejected(spec: PodSpec, node: NodeFacts, *, is_crowded: bool) -> bool:
    """A quick look that no Pod fails which `rejection` would reject; most pass it. A Node is crowded if all Pods on it
    together request more than it has.
    """
    return bool(
        is_crowded
        or spec.os is not None
        or spec.security_context.sysctls
        or host_ports(spec)
        or ((spec.affinity or spec.node_selector) and not matches_node(spec, node.labels, node.name))
        or (node.taints and _is_repelled(spec, node))
    )


def _forbidden_sysctl(spec: PodSpec) -> str | None:
    shared = {"Net": spec.host_network, "IPC": spec.host_ipc}
    for each in spec.security_context.sysctls:
        name = _dotted(each.name)
        kernel_namespace = _SAFE_SYSCTLS.get(name)
        if kernel_namespace is None:
            return f'"{name}" not allowlisted'
        if shared[kernel_namespace]:
            return f'"{name}" not allowed with host {kernel_namespace} enabled'
    return None


def _dotted(name: str) -> str:
    """`net/ipv4/conf/eno2.100/rp_filter` is `net.ipv4.conf.eno2/100.rp_filter`, by the first separator."""
    slash, dot = name.find("/"), name.find(".")
    return name.translate(_SWAPPED) if slash != -1 and (dot == -1 or slash < dot) else name


def _is_repelled(spec: PodSpec, node: NodeFacts) -> bool:
    return any(each.get("effect") == "NoExecute" and not tolerates(spec, each) for each in node.taints)


def lacks(name: str, amount: int, used: int, node: NodeFacts) -> bool:
    """Resources of others that the Node does not know are not its business."""
    if name not in node.allocatable and "/" in name:
        return False
    return amount > 0 and used + amount > node.allocatable.get(name, 0)


def _out_of(name: str, amount: int, used: int, most: int) -> Rejection:
    unit = _MILLI if name == "cpu" else _WHOLE
    requested, taken, capacity = (-(-each // unit) for each in (amount, used, most))
    message = f"Node didn't have enough resource: {name}, requested: {requested}, used: {taken}, capacity: {capacity}"
    return Rejection(f"OutOf{name}", message)


def _failed(predicate: str, why: str) -> Rejection:
    return Rejection(predicate, f"Predicate {predicate} failed: {why}")


def _sum(all_requests: Iterable[Mapping[str, int]]) -> Amounts:
    total: Amounts = {}
    for requests in all_requests:
        for name, amount in requests.items():
            total[name] = total.get(name, 0) + amount
    return total
