"""The settings of the simulation, from environment variables: how many Nodes, of which size. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from homeostat.objects.quantity import Quantity, QuantityError
from homeostat.objects.time.duration import DurationError, parse_seconds

NODES: Final = "HOMEOSTAT_WORKLOADS_NODES"
SIZE: Final = "HOMEOSTAT_WORKLOADS_NODE_SIZE"
DELAY: Final = "HOMEOSTAT_WORKLOADS_READY_AFTER"
PARTS: Final = "HOMEOSTAT_WORKLOADS_PARTS"
ENDED: Final = "HOMEOSTAT_WORKLOADS_ENDED_PODS"
NAMES: Final = (NODES, SIZE, DELAY, PARTS, ENDED)
MOST_NODES: Final = 5000
USUAL_NODES: Final = 3
USUAL_ENDED_PODS: Final = 12_500
_MOST_DIGITS: Final = 9
_USUAL_DELAY_S: Final = 0.01
_SIZE: Final = {"cpu": "32", "memory": "256Gi", "pods": "110", "ephemeral-storage": "100Gi"}


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    nodes: int = USUAL_NODES
    size: dict[str, str] = msgspec.field(default_factory=lambda: dict(_SIZE))
    ready_after_s: float = _USUAL_DELAY_S
    ended_pods: int = USUAL_ENDED_PODS
    """How many are kept; 0 for all."""
    is_nodes_only: bool = False
    """Nodes and what kubelets do; the scheduler and the controllers are somebody else's."""


def read_settings(environment: Mapping[str, str]) -> Settings:
    """`ValueError` says which setting is invalid."""
    return Settings(
        nodes=_nodes(environment.get(NODES, "")),
        size=_sizes(environment.get(SIZE, "")),
        ready_after_s=_delay(environment.get(DELAY, "")),
        ended_pods=_ended_pods(environment.get(ENDED, "")),
        is_nodes_only=_is_nodes_only(environment.get(PARTS, "")),
    )


def _nodes(text: str) -> int:
    if not text:
        return USUAL_NODES
    if not text.isascii() or not text.isdigit() or int(text) > MOST_NODES:
        raise ValueError(f"the number of simulated nodes is 0 to {MOST_NODES}, got {text!r}; set {NODES} or --nodes")
    return int(text)


def _ended_pods(text: str) -> int:
    if not text:
        return USUAL_ENDED_PODS
    if not text.isascii() or not text.isdigit() or len(text) > _MOST_DIGITS:
        raise ValueError(f"{ENDED}: expected the number of ended Pods to keep, 0 for all, got {text!r}")
    return int(text)


def _is_nodes_only(text: str) -> bool:
    if text not in {"", "all", "nodes"}:
        raise ValueError(f"the simulated parts are all or nodes, got {text!r}; set {PARTS} or --workloads")
    return text == "nodes"


def _sizes(text: str) -> dict[str, str]:
    sizes = dict(_SIZE)
    for part in filter(None, text.split(",")):
        name, equals, value = part.strip().partition("=")
        try:
            Quantity.parse(value)
        except QuantityError:
            equals = ""
        if not equals or not name:
            raise ValueError(f"the size of a simulated node is as cpu=32,memory=256Gi,pods=110, got {part!r}")
        sizes[name] = value
    return sizes


def _delay(text: str) -> float:
    if not text:
        return _USUAL_DELAY_S
    try:
        return parse_seconds(text)
    except DurationError as error:
        raise ValueError(f"{DELAY}: expected a duration such as 10ms: {error}") from error
