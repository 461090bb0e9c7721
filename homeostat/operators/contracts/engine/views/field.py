"""The field of an object that a failed check is about, and its line in the object's manifest. Pure."""

from __future__ import annotations

import msgspec

from homeostat.objects.report.location import find_object, pod_path
from homeostat.objects.report.report import Entry
from homeostat.objects.yaml.nodes import Node
from homeostat.operators.contracts.engine.checks.verdict import Verdict
from homeostat.operators.contracts.engine.document.contract import Contract

Path = tuple[str | int, ...]


def field_of(verdict: Verdict, kind: str, contract: Contract | None) -> str:
    """Return the path of the field, such as `spec.template.spec.containers[0].image`; empty for a whole object."""
    text = ""
    for step in _path(verdict, kind, contract):
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def with_line(entry: Entry, documents: dict[int, Node]) -> Entry:
    """Return the entry with the line of its field, or of the nearest one that encloses it."""
    node = find_object(entry, documents) if entry.part else None
    return entry if node is None else msgspec.structs.replace(entry, line=_walk(node, entry.part).line)


def _path(verdict: Verdict, kind: str, contract: Contract | None) -> Path:
    pod = pod_path(kind)
    match verdict.check:
        case "PortsValid":
            return ("spec", "ports")
        case "WorkloadTypeMatch":
            return ("kind",)
        case "StateModelMatch":
            return _state_path(verdict, kind, contract)
        case "UpgradeStrategyMatch":
            return ("spec", "podManagementPolicy") if kind == "StatefulSet" else ("spec", "strategy", "type")
        case "GracefulShutdownMatch":
            return (*pod, "terminationGracePeriodSeconds")
        case "ImageMatch":
            return (*pod, "containers", 0, "image")
        case "HealthTimingMatch":
            return (*pod, "containers", 0, "readinessProbe", "initialDelaySeconds")
    return ()


def _state_path(verdict: Verdict, kind: str, contract: Contract | None) -> Path:
    is_stateful = contract is not None and contract.runtime is not None and contract.runtime.state.type == "stateful"
    if verdict.reason == "Mismatch" and is_stateful:
        return ("kind",)
    return ("spec", "volumeClaimTemplates") if kind == "StatefulSet" else (*pod_path(kind), "volumes")


def _walk(node: Node, path: str) -> Node:
    for step in path.replace("[", ".").replace("]", "").split("."):
        if step.isdigit():
            found = node.items[int(step)] if int(step) < len(node.items) else None
        else:
            found = node.fields.get(step)
        if found is None:
            return node
        node = found
    return node
