"""What happens to a claim that has no volume: it is bound, gets a new volume, or waits. Pure.

A StorageClass that exists decides when: at once, or with the first Pod that uses the claim. A class that does not exist
provisions at once, so that manifests of a cluster work without it. A claim that names no class gets the default one,
also later; on a plane without any StorageClass it needs none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.json import JsonObject
from homeostat.objects.selectors import selector_of
from homeostat.operators.workloads.api import Meta, Workload
from homeostat.operators.workloads.scheduling.fit import amount_of
from homeostat.operators.workloads.volumes.decide import is_free_for

NO_PROVISIONER: Final = "kubernetes.io/no-provisioner"
_DEFAULT_MARKS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
_LEGACY_CLASS: Final = "volume.beta.kubernetes.io/storage-class"
_UNMET: Final = "no persistent volumes available for this claim and no storage class is set"
_ON_USE: Final = "WaitForFirstConsumer"


class StorageClass(msgspec.Struct, frozen=True, rename="camel"):
    metadata: Meta
    provisioner: str = ""
    volume_binding_mode: str = "Immediate"
    reclaim_policy: str = "Delete"

    @property
    def is_default(self) -> bool:
        return any(self.metadata.annotations.get(each) == "true" for each in _DEFAULT_MARKS)

    @property
    def waits_for_use(self) -> bool:
        return self.volume_binding_mode == _ON_USE


class Bind(NamedTuple):
    volume: Workload


class Provision(NamedTuple):
    reclaim_policy: str


class Assign(NamedTuple):
    """The name of the class that the claim gets."""

    class_: str


class Wait(NamedTuple):
    """The reason and the message of the Event."""

    reason: str
    message: str


def plan(
    claim: Workload,
    class_: StorageClass | None,
    volumes: Iterable[Workload],
    *,
    is_used: bool,
    classes: Iterable[StorageClass] = (),
) -> Bind | Provision | Assign | Wait:
    """`class_` is the one that the claim names, if it exists; `classes` are all of them."""
    if class_ is not None and class_.waits_for_use and not is_used:
        return Wait(_ON_USE, "waiting for first consumer to be created before binding")
    found = _smallest(claim, volumes)
    if found is not None:
        return Bind(found)
    if claim.spec.get("storageClassName") == "" or (class_ is not None and class_.provisioner == NO_PROVISIONER):
        return Wait("FailedBinding", _UNMET)
    if is_classless(claim) and (known := list(classes)):
        return _default_of(known)
    return Provision(class_.reclaim_policy if class_ is not None else "Delete")


def is_classless(claim: Workload) -> bool:
    """Whether the claim leaves the class open; an empty name is the wish for none."""
    return claim.spec.get("storageClassName") is None and _LEGACY_CLASS not in claim.metadata.annotations


def _default_of(classes: Iterable[StorageClass]) -> Assign | Wait:
    """The newest default one; of several of one second the first by name."""
    found = sorted((each for each in classes if each.is_default), key=lambda each: each.metadata.name)
    if not found:
        return Wait("FailedBinding", _UNMET)
    return Assign(max(found, key=lambda each: each.metadata.creation_timestamp).metadata.name)


def _smallest(claim: Workload, volumes: Iterable[Workload]) -> Workload | None:
    """The volume that is reserved for the claim, or else the smallest that fits it."""
    fitting = [each for each in volumes if is_free_for(each, claim) and fits(each, claim)]
    return min(
        fitting, key=lambda each: (not each.spec.get("claimRef"), _storage(each.spec), each.metadata.name), default=None
    )


def fits(volume: Workload, claim: Workload) -> bool:
    have, want = volume.spec, claim.spec
    if (have.get("storageClassName") or "") != (want.get("storageClassName") or ""):
        return False
    if (have.get("volumeAttributesClassName") or "") != (want.get("volumeAttributesClassName") or ""):
        return False
    if (have.get("volumeMode") or "Filesystem") != (want.get("volumeMode") or "Filesystem"):
        return False
    if not set(want.get("accessModes") or ()) <= set(have.get("accessModes") or ()):
        return False
    requests = (want.get("resources") or {}).get("requests") or {}
    try:
        is_selected = not want.get("selector") or selector_of(want["selector"]).matches(volume.metadata.labels)
    except BadRequestError:
        is_selected = False
    return is_selected and _storage(have) >= amount_of(requests.get("storage") or 0)


def _storage(spec: JsonObject) -> int:
    return amount_of((spec.get("capacity") or {}).get("storage") or 0)


def unbound(claims: Iterable[tuple[str, Workload | None]]) -> str:
    """Why a Pod with these claims cannot start yet, in the scheduler's words; empty if all are bound."""
    for name, claim in claims:
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.is_terminating:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if claim.status.get("phase") != "Bound":
            return "pod has unbound immediate PersistentVolumeClaims"
    return ""
