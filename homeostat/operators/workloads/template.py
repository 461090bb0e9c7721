"""A Pod from the template of its owner. Pure."""

from __future__ import annotations

from homeostat.objects.declared import owner_reference
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind
from homeostat.operators.workloads.api import Meta


def pod_from(
    template: JsonObject,
    *,
    kind: Kind,
    owner: Meta,
    name: str,
    labels: dict[str, str] | None = None,
    annotations: dict[str, str] | None = None,
    finalizers: tuple[str, ...] = (),
) -> JsonObject:
    """`name` is the whole name."""
    given = template.get("metadata") or {}
    metadata: JsonObject = {"name": name, "generateName": f"{owner.name}-", "namespace": owner.namespace}
    if found := {**(given.get("labels") or {}), **(labels or {})}:
        metadata["labels"] = found
    if found := {**(given.get("annotations") or {}), **(annotations or {})}:
        metadata["annotations"] = found
    if found_finalizers := [*(given.get("finalizers") or ()), *finalizers]:
        metadata["finalizers"] = found_finalizers
    metadata["ownerReferences"] = [owner_reference(kind, owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template.get("spec") or {}}
