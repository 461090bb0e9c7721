"""Kubernetes' discovery documents, in the old form and in the aggregated form. Pure.

The old form has one document for each group and version; the aggregated form has everything in two responses, `/api`
and `/apis`. Content negotiation chooses between them elsewhere.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Raw

from homeostat.objects.json import JsonObject, encode
from homeostat.server.discovery.document import Document, document_of
from homeostat.server.kinds.registry import Kind

# Kubernetes' own order, by the priority that its aggregator gives each group; custom groups follow by name.
_GROUP_ORDER = (
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
)
_GROUP_RANK = {group: rank for rank, group in enumerate(_GROUP_ORDER)}
_VERSION = re.compile(r"v([1-9]\d*)(?:(alpha|beta)([1-9]\d*))?")
_resources: WeakKeyDictionary[Kind, Raw] = WeakKeyDictionary()
_STABILITY = {None: 2, "beta": 1, "alpha": 0}


class Subresource(msgspec.Struct, frozen=True):
    name: str
    verbs: tuple[str, ...]
    group: str
    version: str
    kind: str


_FURTHER = {
    ("certificates.k8s.io", "certificatesigningrequests"): (
        Subresource("approval", ("get", "patch", "update"), "certificates.k8s.io", "v1", "CertificateSigningRequest"),
    ),
    ("", "namespaces"): (Subresource("finalize", ("update",), "", "v1", "Namespace"),),
    ("", "serviceaccounts"): (Subresource("token", ("create",), "authentication.k8s.io", "v1", "TokenRequest"),),
    ("", "pods"): (
        Subresource("binding", ("create",), "", "v1", "Binding"),
        Subresource("ephemeralcontainers", ("get", "patch", "update"), "", "v1", "Pod"),
        Subresource("eviction", ("create",), "policy", "v1", "Eviction"),
        Subresource("resize", ("get", "patch", "update"), "", "v1", "Pod"),
    ),
}


def subresources(kind: Kind) -> list[Subresource]:
    """By name; those of custom kinds as Kubernetes lists them, the status first."""
    found = list(_FURTHER.get((kind.group, kind.plural), ()))
    verbs = ("get", "patch", "update")
    if kind.has_status:
        found.append(Subresource("status", verbs, kind.group, kind.version, kind.kind))
    if kind.scale is not None:
        found.append(Subresource("scale", verbs, "autoscaling", "v1", "Scale"))
    return found if kind.custom else sorted(found, key=lambda each: each.name)


_HASHED_AS = {
    "events.k8s.io/v1/Event": "/v1/Event",
    "storage.k8s.io/v1/VolumeAttributesClass": "storage.k8s.io/v1beta1/VolumeAttributesClass",
    "apiextensions.k8s.io/v1/CustomResourceDefinition": "apiextensions.k8s.io/v1beta1/CustomResourceDefinition",
    **{
        f"admissionregistration.k8s.io/v1beta1/{kind}": f"admissionregistration.k8s.io/v1alpha1/{kind}"
        for kind in ("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
    },
    **{
        f"resource.k8s.io/v1/{kind}": f"resource.k8s.io/v1beta2/{kind}"
        for kind in ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")
    },
}
"""What kube-apiserver 1.34 hashes for kinds that it stores in an older version, so that hashes are equal."""


@lru_cache(4096)
def group_order(group: str) -> tuple[int, str]:
    """Sort key: the core group, the built-in ones as Kubernetes has them, then the others by name."""
    return (-1, "") if not group else (_GROUP_RANK.get(group, len(_GROUP_RANK)), group)


@lru_cache(4096)
def version_order(version: str) -> tuple[int, int, int, int, str]:
    """Sort key, preferred first: v2, v1, v1beta2, v1beta1, v1alpha1, then names that are no Kubernetes versions."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (1, 0, 0, 0, version)
    return (0, -_STABILITY[match[2]], -int(match[1]), -int(match[3] or 0), "")


def groups(kinds: Iterable[Kind]) -> dict[str, list[str]]:
    """Every group with its versions, both in the order in which clients should prefer them."""
    found: dict[str, set[str]] = {}
    for kind in kinds:
        found.setdefault(kind.group, set()).add(kind.version)
    return {group: sorted(found[group], key=version_order) for group in sorted(found, key=group_order)}


def api_versions(server_address: str = "") -> Document:
    """`/api`."""
    return document_of(
        {
            "kind": "APIVersions",
            "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": server_address}],
        }
    )


def group_list(kinds: Sequence[Kind]) -> Document:
    """`/apis`."""
    found = [_group(group, versions) for group, versions in groups(kinds).items() if group]
    return document_of({"kind": "APIGroupList", "apiVersion": "v1", "groups": found})


def group(kinds: Sequence[Kind], name: str) -> Document | None:
    """`/apis/{name}`; None if no kind is of that group."""
    versions = groups(kinds).get(name) if name else None
    return None if versions is None else document_of({"kind": "APIGroup", "apiVersion": "v1", **_group(name, versions)})


def _group(name: str, versions: list[str]) -> JsonObject:
    served = [{"groupVersion": f"{name}/{version}", "version": version} for version in versions]
    return {"name": name, "versions": served, "preferredVersion": served[0]}


def resource_list(kinds: Sequence[Kind], group: str, version: str) -> Document | None:
    """`/api/v1` and `/apis/{group}/{version}`; None if nothing is served there."""
    served = _of(kinds, group, version)
    if not served:
        return None
    resources: list[JsonObject] = []
    for kind in served:
        resources.append(_resource(kind))
        resources += [_subresource(kind, each) for each in subresources(kind)]
    # As in Kubernetes, the list of the core group alone has no apiVersion.
    version_of_list = {"apiVersion": "v1"} if group else {}
    listed = {"groupVersion": served[0].api_version, "resources": resources}
    return document_of({"kind": "APIResourceList", **version_of_list, **listed})


def _of(kinds: Iterable[Kind], group: str, version: str) -> list[Kind]:
    return sorted((each for each in kinds if (each.group, each.version) == (group, version)), key=lambda it: it.plural)


def _resource(kind: Kind) -> JsonObject:
    found: JsonObject = {
        "name": kind.plural,
        "singularName": kind.singular or kind.kind.lower(),
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": kind.verbs,
    }
    if kind.short_names:
        found["shortNames"] = kind.short_names
    if kind.categories:
        found["categories"] = kind.categories
    if kind.is_stored:
        version = kind.storage_version or kind.version
        stored = f"{kind.group}/{version}/{kind.kind}"
        stored = _HASHED_AS.get(stored, stored)
        found["storageVersionHash"] = b64encode(sha256(stored.encode()).digest()[:8]).decode()
    return found


def _subresource(kind: Kind, each: Subresource) -> JsonObject:
    found: JsonObject = {"name": f"{kind.plural}/{each.name}", "singularName": "", "namespaced": kind.namespaced}
    if (each.group, each.version) != (kind.group, kind.version):
        found |= {"group": each.group, "version": each.version}
    return found | {"kind": each.kind, "verbs": each.verbs}


def aggregated_core(kinds: Sequence[Kind]) -> Document:
    """`/api` as an APIGroupDiscoveryList."""
    return _aggregated([each for each in kinds if not each.group])


def aggregated_groups(kinds: Sequence[Kind]) -> Document:
    """`/apis` as an APIGroupDiscoveryList."""
    return _aggregated([each for each in kinds if each.group])


def _aggregated(kinds: Sequence[Kind]) -> Document:
    served: dict[tuple[str, str], list[Kind]] = {}
    for kind in sorted(kinds, key=lambda it: it.plural):
        served.setdefault((kind.group, kind.version), []).append(kind)
    items = [
        {
            "metadata": {"name": group} if group else {},
            "versions": [
                {
                    "version": version,
                    "resources": [_aggregated_resource(kind) for kind in served[group, version]],
                    "freshness": "Current",
                }
                for version in versions
            ],
        }
        for group, versions in groups(kinds).items()
    ]
    return document_of(
        {"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items}
    )


def _aggregated_resource(kind: Kind) -> Raw:
    """Encoded once: of thousands of kinds few change."""
    found = _resources.get(kind)
    if found is None:
        found = _resources[kind] = Raw(encode(_described(kind)))
    return found


def _described(kind: Kind) -> JsonObject:
    found: JsonObject = {
        "resource": kind.plural,
        "responseKind": _response_kind(kind, kind),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular or kind.kind.lower(),
        "verbs": kind.verbs,
    }
    if kind.short_names:
        found["shortNames"] = kind.short_names
    if kind.categories:
        found["categories"] = kind.categories
    further = [
        {"subresource": each.name, "responseKind": _response_kind(kind, each), "verbs": each.verbs}
        for each in subresources(kind)
    ]
    return found | {"subresources": further} if further else found


def _response_kind(kind: Kind, each: Kind | Subresource) -> JsonObject:
    """As in Kubernetes, a built-in kind does not repeat the group and version that it is listed under."""
    if not kind.custom and (each.group, each.version) == (kind.group, kind.version):
        return {"group": "", "version": "", "kind": each.kind}
    return {"group": each.group, "version": each.version, "kind": each.kind}
