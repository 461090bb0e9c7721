"""What the volumes of a pod may look like, and which there are for containers to mount."""

from __future__ import annotations

from collections.abc import Mapping

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required
from homeostat.objects.identifiers import dns1123_label, dns1123_subdomain
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.names import check_annotations, check_labels
from homeostat.server.kinds.builtins.checks.pods.files import check_downward, check_files, check_projected
from homeostat.server.kinds.builtins.checks.pods.source import SOURCES, Check, check_sources, source_of
from homeostat.server.kinds.builtins.checks.storage import check_claim_spec
from homeostat.server.kinds.builtins.members import numbered, struct, text
from homeostat.server.kinds.builtins.value import check_choice, check_quantity, check_required, check_text

_LONGEST_PORTAL = 64
_TEMPLATE_FIELDS = frozenset(["labels", "annotations", "creationTimestamp"])


def check_volumes(spec: JsonObject, path: str, pod: str = "") -> tuple[dict[str, str], list[Cause]]:
    """The sources of valid volumes by name, and what is wrong with the others; `pod` is the pod's name, if known."""
    sources: dict[str, str] = {}
    causes: list[Cause] = []
    created: set[str] = set()
    for at, volume in numbered(spec, "volumes", path):
        name = text(volume, "name")
        found = check_sources(volume, at, _CHECKS)
        if "iscsi" in volume:
            found += _check_portal(volume["iscsi"], name, at)
        if pod and "ephemeral" in volume:
            created.add(f"{pod}-{name}")
            found += check_text(f"{pod}-{name}", f"{at}.name", dns1123_subdomain) if name else []
        found += check_required(volume, "name", at, dns1123_label)
        if name in sources:
            found.append(duplicate(f"{at}.name", name))
        if not found:
            sources[name] = source_of(volume, _CHECKS)
        causes += found
    return sources, causes + (_check_claims(spec, path, created) if created else [])


def _check_claims(spec: JsonObject, path: str, created: set[str]) -> list[Cause]:
    """No volume is the claim that another one creates."""
    message = "must not reference a PVC that gets created for an ephemeral volume"
    claims = (
        (at, text(struct(volume, "persistentVolumeClaim"), "claimName"))
        for at, volume in numbered(spec, "volumes", path)
    )
    return [invalid(f"{at}.persistentVolumeClaim.claimName", each, message) for at, each in claims if each in created]


def _check_portal(source: Json, name: str, path: str) -> list[Cause]:
    iscsi = struct(source)
    if iscsi.get("initiatorName") is None or len(f"{name}:{text(iscsi, 'targetPortal')}") <= _LONGEST_PORTAL:
        return []
    message = f"with the target portal, it must have at most {_LONGEST_PORTAL} characters if initiatorName is set"
    return [invalid(f"{path}.name", name, message)]


def _check_empty(source: JsonObject, path: str) -> list[Cause]:
    if check_quantity(source.get("sizeLimit"), f"{path}.sizeLimit"):
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _check_ephemeral(source: JsonObject, path: str) -> list[Cause]:
    template, at = source.get("volumeClaimTemplate"), f"{path}.volumeClaimTemplate"
    if not isinstance(template, dict):
        return [required(at)]
    metadata = struct(template, "metadata")
    causes = check_annotations(metadata.get("annotations"), f"{at}.metadata.annotations")
    causes += check_labels(metadata.get("labels"), f"{at}.metadata.labels")
    causes += [
        forbidden(f"{at}.metadata.{name}", "cannot be set")
        for name, value in metadata.items()
        if name not in _TEMPLATE_FIELDS and value not in (None, "")
    ]
    return causes + check_claim_spec(struct(template, "spec"), f"{at}.spec")


def _check_image(source: JsonObject, path: str) -> list[Cause]:
    causes = check_required(source, "reference", path)
    return causes + check_choice(source, "pullPolicy", path, ("Always", "IfNotPresent", "Never"))


def _in_order(checks: Mapping[str, Check]) -> dict[str, Check]:
    order = (
        "emptyDir hostPath gitRepo gcePersistentDisk awsElasticBlockStore secret nfs iscsi glusterfs flocker "
        "persistentVolumeClaim rbd cinder cephfs quobyte downwardAPI fc flexVolume configMap azureFile vsphereVolume "
        "photonPersistentDisk portworxVolume azureDisk storageos projected scaleIO csi ephemeral image"
    )
    return {name: checks[name] for name in order.split()}


_CHECKS = _in_order(
    {
        **SOURCES,
        "emptyDir": _check_empty,
        "secret": check_files("secretName"),
        "configMap": check_files("name"),
        "downwardAPI": check_downward,
        "projected": check_projected,
        "ephemeral": _check_ephemeral,
        "image": _check_image,
    }
)
"""In the order of Kubernetes: of several sources, it takes the first."""
