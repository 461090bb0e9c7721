"""The part of the conversation in which claims change: their class, their size, and what never changes."""

from __future__ import annotations

from typing import Any

from tests.differential.step import MERGE, NS, Step, api

_CLAIMS = f"{NS}/persistentvolumeclaims"
_LEGACY = "volume.beta.kubernetes.io/storage-class"
_ANNOTATED = {"annotations": {_LEGACY: "a"}}
_GROWING = {"annotations": {_LEGACY: "growing"}}
_BOUND = {"phase": "Bound", "capacity": {"storage": "1Gi"}}
_ATTRIBUTED = {**_BOUND, "currentVolumeAttributesClassName": "gold"}


def _sized(size: str, **limits: str) -> dict[str, Any]:
    return {"resources": {"requests": {"storage": size}, **({"limits": limits} if limits else {})}}


_CHANGES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ("gets a class", {}, {}, {}, {"spec": {"storageClassName": "a"}}),
    ("gets the empty class", {}, {}, {}, {"spec": {"storageClassName": ""}}),
    ("gets a class and a volume", {}, {}, {}, {"spec": {"storageClassName": "a", "volumeName": "v"}}),
    ("gets another class", {}, {"storageClassName": "a"}, {}, {"spec": {"storageClassName": "b"}}),
    ("loses its class", {}, {"storageClassName": "a"}, {}, {"spec": {"storageClassName": None}}),
    ("gets its annotated class", _ANNOTATED, {}, {}, {"spec": {"storageClassName": "a"}}),
    ("gets another class than its annotated one", _ANNOTATED, {}, {}, {"spec": {"storageClassName": "b"}}),
    (
        "moves its annotated class",
        _ANNOTATED,
        {},
        {},
        {"metadata": {"annotations": {_LEGACY: None}}, "spec": {"storageClassName": "a"}},
    ),
    (
        "moves and changes its annotated class",
        _ANNOTATED,
        {},
        {},
        {"metadata": {"annotations": {_LEGACY: "b"}}, "spec": {"storageClassName": "a"}},
    ),
    ("loses its annotated class", _ANNOTATED, {}, {}, {"metadata": {"annotations": {_LEGACY: None}}}),
    ("changes its annotated class", _ANNOTATED, {}, {}, {"metadata": {"annotations": {_LEGACY: "b"}}}),
    ("gets an annotated class", {}, {}, {}, {"metadata": {"annotations": {_LEGACY: "b"}}}),
    ("changes its mode", {}, {}, {}, {"spec": {"volumeMode": "Block"}}),
    ("grows unbound", {}, {}, {}, {"spec": _sized("2Gi")}),
    ("grows", {}, {}, _BOUND, {"spec": _sized("2Gi")}),
    ("grows in a rigid class", {}, {"storageClassName": "rigid"}, _BOUND, {"spec": _sized("2Gi")}),
    ("grows in its class", {}, {"storageClassName": "growing"}, _BOUND, {"spec": _sized("2Gi")}),
    ("grows in its annotated class", _GROWING, {}, _BOUND, {"spec": _sized("2Gi")}),
    ("grows in a class that is not there", {}, {"storageClassName": "gone"}, _BOUND, {"spec": _sized("2Gi")}),
    ("grows with a limit", {}, {}, _BOUND, {"spec": _sized("2Gi", storage="5Gi")}),
    ("shrinks below its capacity", {}, {}, _BOUND, {"spec": _sized("500Mi")}),
    ("shrinks to its capacity", {}, _sized("3Gi"), _BOUND, {"spec": _sized("1Gi")}),
    ("shrinks above its capacity", {}, _sized("3Gi"), _BOUND, {"spec": _sized("2Gi")}),
    ("shrinks without a capacity", {}, _sized("3Gi"), {"phase": "Bound"}, {"spec": _sized("1Gi")}),
    ("gets attributes", {}, {}, _BOUND, {"spec": {"volumeAttributesClassName": "gold"}}),
    *(
        (f"changes its attributes to {name!r}", {}, {"volumeAttributesClassName": "gold"}, _ATTRIBUTED, patch)
        for name in ("silver", "", None)
        for patch in [{"spec": {"volumeAttributesClassName": name}}]
    ),
]
"""What happens to the claim, its metadata, its spec, its status, and the patch."""


def _class(name: str, *, is_growing: bool) -> Step:
    class_ = {**api("StorageClass", "storage.k8s.io/v1", name), "provisioner": "example.com/none"}
    body = {**class_, "allowVolumeExpansion": is_growing}
    return Step(f"storage class {name}", "POST", "/apis/storage.k8s.io/v1/storageclasses", body)


def _steps() -> list[Step]:
    found = [_class("growing", is_growing=True), _class("rigid", is_growing=False)]
    for at, (what, metadata, spec, status, patch) in enumerate(_CHANGES):
        name = f"changing-{at}"
        claim = api("PersistentVolumeClaim", "v1", name)
        claim["metadata"] |= metadata
        claim["spec"] = {"accessModes": ["ReadWriteOnce"], **_sized("1Gi"), **spec}
        found.append(Step(f"claim that {what}", "POST", _CLAIMS, claim))
        if status:
            found.append(
                Step(f"claim that {what}: status", "PATCH", f"{_CLAIMS}/{name}/status", {"status": status}, MERGE)
            )
        found.append(Step(f"claim that {what}: change", "PATCH", f"{_CLAIMS}/{name}", patch, MERGE))
    return found


CLAIM_STEPS = _steps()
