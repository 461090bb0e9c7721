"""Which Nodes a Pod fits on, and the scheduler's words for why it fits on none. Pure.

Considered are cordons, taints and tolerations, node selectors, required node affinity, ports of the host, and requests
against what the Node has left. `neighbours.py` considers other Pods, and `preferences.py` what a Pod prefers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.json import JsonObject
from homeostat.objects.memory.cache import cached
from homeostat.objects.quantity import Quantity, QuantityError
from homeostat.operators.workloads.api import OUTCOME, Container, PodSpec, Workload
from homeostat.operators.workloads.sizes import integer_of

PODS: Final = "pods"
HELPLESS: Final = "Preemption is not helpful for scheduling"
_BLOCKING: Final = ("NoSchedule", "NoExecute")
_SOFT: Final = "PreferNoSchedule"
_UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
UNFIT: Final = "node(s) didn't match Pod's node affinity/selector"
NO_PORTS: Final = "node(s) didn't have free ports for the requested pod ports"
_PORT: Final = "host port "
"""Before a port of the host among the amounts: `host port TCP/80/0.0.0.0`."""
_ANY: Final = "0.0.0.0"  # noqa: S104

Amounts = dict[str, int]
"""Quantities in nano units by resource name."""


class Obstacle(NamedTuple):
    """Why a Pod must not be on a Node, in the scheduler's words."""

    text: str
    is_others: bool = False
    """Whether other Pods are the reason, so that their removal may help."""


class NodeFacts(msgspec.Struct, frozen=True):
    """A Node as the scheduler sees it."""

    name: str
    labels: dict[str, str]
    taints: tuple[JsonObject, ...]
    is_cordoned: bool
    allocatable: Amounts
    address: str
    outcome: str = ""
    """What becomes of the Node, by its annotation."""
    soft_taints: tuple[JsonObject, ...] = ()
    """Those that Pods avoid if they can."""


def facts_of(node: Workload) -> NodeFacts:
    # A kubelet makes what others add to the capacity allocatable.
    found = {**(node.status.get("capacity") or {}), **(node.status.get("allocatable") or {})}
    addresses = node.status.get("addresses") or ()
    return NodeFacts(
        name=node.metadata.name,
        labels=node.metadata.labels,
        taints=tuple(each for each in node.spec.get("taints") or () if each.get("effect") in _BLOCKING),
        is_cordoned=bool(node.spec.get("unschedulable")),
        allocatable={name: amount_of(value) for name, value in found.items()},
        address=next((each.get("address") or "" for each in addresses if each.get("type") == "InternalIP"), ""),
        outcome=node.metadata.annotations.get(OUTCOME, ""),
        soft_taints=tuple(each for each in node.spec.get("taints") or () if each.get("effect") == _SOFT),
    )


@cached(4096)
def amount_of(value: str | int | float) -> int:
    """An invalid quantity counts as nothing: the server refuses those that matter."""
    try:
        return Quantity.parse(str(value)).nanos
    except QuantityError:
        return 0


def requests_of(spec: PodSpec) -> Amounts:
    """Of the containers together, or of an init container with those that run beside it if that is more. Requests of
    the whole Pod replace both; its overhead, one Pod and the ports of the host are added.
    """
    total = _amounts(each.resources.requests for each in spec.containers)
    if spec.init_containers:
        total = _with_init_containers(total, spec.init_containers)
    if spec.resources.requests:
        total |= _amounts((spec.resources.requests,))
    for name, value in spec.overhead.items():
        total[name] = total.get(name, 0) + amount_of(value)
    total[PODS] = 1_000_000_000
    total |= host_ports(spec)
    return total


def host_ports(spec: PodSpec) -> Amounts:
    return {
        f"{_PORT}{port.protocol}/{port.host_port}/{port.host_ip or _ANY}": 1
        for container in spec.containers
        for port in container.ports
        if port.host_port
    }


def is_port(name: str) -> bool:
    """Whether an amount is of a port of the host."""
    return name.startswith(_PORT)


def lacks_ports(spec: PodSpec, others: Iterable[PodSpec]) -> bool:
    """Whether one of these Pods on the same Node has a port of the host that the Pod needs."""
    wanted = host_ports(spec)
    if not wanted:
        return False
    used: Amounts = {}
    for each in others:
        used |= host_ports(each)
    return any(_is_taken(port, used) for port in wanted)


def _with_init_containers(running: Amounts, containers: Iterable[Container]) -> Amounts:
    beside: Amounts = {}
    most: Amounts = {}
    for each in containers:
        own = _plus(beside, _amounts((each.resources.requests,)))
        if each.restart_policy == "Always":
            beside = own
        most = {name: max(most.get(name, 0), own.get(name, 0)) for name in most | own}
    total = _plus(running, beside)
    return {name: max(total.get(name, 0), most.get(name, 0)) for name in most | total}


def _plus(one: Amounts, other: Amounts) -> Amounts:
    return {name: one.get(name, 0) + other.get(name, 0) for name in one | other}


def _amounts(requests: Iterable[Mapping[str, str | int | float]]) -> Amounts:
    total: Amounts = {}
    for each in requests:
        for name, value in each.items():
            total[name] = total.get(name, 0) + amount_of(value)
    return total


def obstacle(spec: PodSpec, requests: Amounts, node: NodeFacts, used: Mapping[str, int]) -> Obstacle | None:
    """Why the Pod does not fit on the Node; None if it does."""
    if node.is_cordoned and not tolerates(spec, {"key": _UNSCHEDULABLE, "effect": "NoSchedule"}):
        return Obstacle("node(s) were unschedulable")
    for taint in node.taints:
        if not tolerates(spec, taint):
            return Obstacle(f"node(s) had untolerated taint {{{taint.get('key', '')}: {taint.get('value', '')}}}")
    if not matches_node(spec, node.labels, node.name):
        return Obstacle(UNFIT)
    for name, amount in requests.items():
        if is_port(name):
            if _is_taken(name, used):
                return Obstacle(NO_PORTS, is_others=True)
        elif amount and used.get(name, 0) + amount > node.allocatable.get(name, 0):
            return Obstacle("Too many pods" if name == PODS else f"Insufficient {name}", is_others=True)
    return None


def _is_taken(port: str, used: Mapping[str, int]) -> bool:
    """Whether a Pod on the Node has the port, at the same address or at all addresses."""
    prefix, _, address = port.rpartition("/")
    if address == _ANY:
        return any(count and name.startswith(f"{prefix}/") for name, count in used.items())
    return bool(used.get(port) or used.get(f"{prefix}/{_ANY}"))


def matches_node(spec: PodSpec, labels: Mapping[str, str], name: str) -> bool:
    if any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    required = ((spec.affinity or {}).get("nodeAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    if not required:
        return True
    return any(matches_term(each, labels, name) for each in required.get("nodeSelectorTerms") or ())


def matches_term(term: JsonObject, labels: Mapping[str, str], name: str) -> bool:
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    return all(_holds(each, labels) for each in expressions) and all(
        _holds(each, {"metadata.name": name}) for each in fields
    )


def _holds(expression: JsonObject, labels: Mapping[str, str]) -> bool:
    key, values = expression.get("key", ""), expression.get("values") or [""]
    found = labels.get(key)
    match expression.get("operator"):
        case "In":
            return found in values
        case "NotIn":
            return found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt" | "Lt" as operator:
            number, bound = integer_of(found or ""), integer_of(values[0])
            return number is not None and bound is not None and (number > bound if operator == "Gt" else number < bound)
    return False


def tolerates(spec: PodSpec, taint: JsonObject) -> bool:
    return any(_is_tolerated(each, taint) for each in spec.tolerations)


def tolerations_of(spec: PodSpec, taint: JsonObject) -> list[JsonObject]:
    """Those that match a taint."""
    return [each for each in spec.tolerations if _is_tolerated(each, taint)]


def _is_tolerated(toleration: JsonObject, taint: JsonObject) -> bool:
    if toleration.get("effect") and toleration["effect"] != taint.get("effect"):
        return False
    key = toleration.get("key") or ""
    if key and key != taint.get("key"):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(key) and (toleration.get("value") or "") == (taint.get("value") or "")


def fit_error(total: int, obstacles: Counter[Obstacle]) -> str:
    """The message of the condition PodScheduled, as the scheduler words it."""
    if not total:
        return "no nodes available to schedule pods"
    reasons = ", ".join(sorted(f"{count} {each.text}" for each, count in obstacles.items()))
    full = sum(count for each, count in obstacles.items() if each.is_others)
    helpless = total - full
    victims = [
        text
        for count, text in (
            (full, f"{full} No preemption victims found for incoming pod"),
            (helpless, f"{helpless} {HELPLESS}"),
        )
        if count
    ]
    return f"0/{total} nodes are available: {reasons}. {no_victims(total, ', '.join(victims))}"


def no_victims(total: int, why: str) -> str:
    """The end of the message: neither claims of devices nor Pods can be taken away from others."""
    return f"no new claims to deallocate, preemption: 0/{total} nodes are available: {why}."
