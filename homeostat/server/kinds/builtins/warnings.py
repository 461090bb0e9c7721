"""Warnings about valid objects of built-in kinds: fields without effect, and those that surprise. Pure.

The words are those of kube-apiserver, which sends them as `Warning` headers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from homeostat.objects.errors import quoted
from homeostat.objects.identifiers import dns1123_label
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.key_pair import key_pair_fault
from homeostat.server.kinds.builtins.members import integer, items, numbered, struct, structs, text
from homeostat.server.kinds.builtins.profiles import profile_warnings
from homeostat.server.kinds.builtins.references import ENFORCED
from homeostat.server.kinds.builtins.value import quantity_of

_MOST = 32
_NO_POD = "a null labelSelector results in matching no pod"
_CONTAINERS = ("initContainers", "containers")
_DEPRECATED_LABELS = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}
_GONE = "deprecated in {}, non-functional in {}+"
_DEAD_VOLUMES = {
    "photonPersistentDisk": _GONE.format("v1.11", "v1.16"),
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": _GONE.format("v1.16", "v1.22"),
    "flocker": _GONE.format("v1.22", "v1.25"),
    "storageos": _GONE.format("v1.22", "v1.25"),
    "quobyte": _GONE.format("v1.22", "v1.25"),
    "glusterfs": _GONE.format("v1.25", "v1.26"),
    "cephfs": _GONE.format("v1.28", "v1.31"),
    "rbd": _GONE.format("v1.28", "v1.31"),
}
_WARNED_AS = {"storageos": "storageOS"}
_SINCE = {"beta.kubernetes.io/arch": "v1.14", "beta.kubernetes.io/os": "v1.14"}


def _name_warnings(obj: JsonObject, use: str) -> Iterator[str]:
    if problems := dns1123_label(text(struct(obj, "metadata"), "name")):
        yield (
            f"metadata.name: this is used in {use}, which can result in surprising behavior; "
            f"a DNS label is recommended: [{' '.join(problems).replace(' bytes', ' characters')}]"
        )


def _pod_warnings(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is None:
        yield from _name_warnings(obj, "the Pod's hostname")
    if old is None or struct(old, "spec") != struct(obj, "spec"):
        yield from _template_warnings(struct(obj, "spec"), "spec")
        yield from profile_warnings(obj)


def _template_warnings(spec: JsonObject, at: str) -> Iterator[str]:
    for name in struct(spec, "nodeSelector"):
        if better := _DEPRECATED_LABELS.get(name):
            since = _SINCE.get(name, "v1.17")
            yield f"{at}.nodeSelector[{name}]: deprecated since {since}; use {quoted(better)} instead"
    for place, volume in numbered(spec, "volumes", at):
        if _DEAD_VOLUMES.keys().isdisjoint(volume):
            continue
        yield from (
            f"{place}.{_WARNED_AS.get(name, name)}: {why}" for name, why in _DEAD_VOLUMES.items() if name in volume
        )
    yield from _duplicate_warnings(spec, "hostAliases", "ip", at)
    yield from _duplicate_warnings(spec, "imagePullSecrets", "name", at)
    for index, secret in enumerate(structs(spec, "imagePullSecrets")):
        if not text(secret, "name"):
            yield f'{at}.imagePullSecrets[{index}].name: invalid empty name ""'
    if integer(spec, "terminationGracePeriodSeconds") < 0:
        yield f"{at}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1"
    yield from _selector_warnings(spec, at)
    taken: dict[tuple[int, str], list[_Port]] = {}
    names: dict[str, str] = {}
    for kind in _CONTAINERS:
        for place, container in numbered(spec, kind, at):
            yield from _variable_warnings(container, place)
            yield from _port_warnings(container, place, taken)
            yield from _port_name_warnings(container, place, names)
            yield from _amount_warnings(container, place)


def _duplicate_warnings(spec: JsonObject, name: str, member: str, at: str) -> Iterator[str]:
    if name not in spec:
        return
    seen: set[str] = set()
    for place, each in numbered(spec, name, at):
        value = text(each, member)
        if value in seen:
            yield f"{place}.{member}: duplicate {member} {quoted(value)}"
        seen.add(value)


def _port_name_warnings(container: JsonObject, at: str, names: dict[str, str]) -> Iterator[str]:
    for place, port in numbered(container, "ports", at):
        if (name := text(port, "name")) and (other := names.setdefault(name, place)) != place:
            yield (
                f"{place}: duplicate port name {quoted(name)} with {other}, services and probes that select ports by "
                f"name will use {other}"
            )


def _variable_warnings(container: JsonObject, at: str) -> Iterator[str]:
    seen: set[str] = set()
    for place, variable in numbered(container, "env", at):
        name, value = text(variable, "name"), text(variable, "value")
        own = f"$({name})"
        if name in seen and (own not in value or value == own or variable.get("valueFrom") is not None):
            yield f"{place}: hides previous definition of {quoted(name)}, which may be dropped when using apply"
        seen.add(name)


_Port = tuple[str, int, str]
"""Where a port is defined, and where it is on the host."""


def _port_warnings(container: JsonObject, at: str, taken: dict[tuple[int, str], list[_Port]]) -> Iterator[str]:
    """`taken` has the ports of the containers before, of which each may conflict with each."""
    for place, port in numbered(container, "ports", at):
        number, address = integer(port, "hostPort"), text(port, "hostIP")
        others = taken.setdefault((integer(port, "containerPort"), text(port, "protocol")), [])
        for other, its_number, its_address in others:
            if (number, address) == (its_number, its_address):
                yield f"{place}: duplicate port definition with {other}"
            elif not number or not its_number:
                yield f"{place}: overlapping port definition with {other}"
            elif number == its_number and not (address and its_address):
                yield f"{place}: dangerously ambiguous port definition with {other}"
        if len(others) < _MOST:
            others.append((place, number, address))


def _selector_warnings(spec: JsonObject, at: str) -> Iterator[str]:
    for place, constraint in numbered(spec, "topologySpreadConstraints", at):
        if constraint.get("labelSelector") is None:
            yield f"{place}.labelSelector: {_NO_POD}"
    for kind in ("podAffinity", "podAntiAffinity"):
        terms, path = struct(spec, "affinity", kind), f"{at}.affinity.{kind}"
        for place, term in numbered(terms, "requiredDuringSchedulingIgnoredDuringExecution", path):
            if term.get("labelSelector") is None:
                yield f"{place}.labelSelector: {_NO_POD}"
        for place, term in numbered(terms, "preferredDuringSchedulingIgnoredDuringExecution", path):
            if struct(term, "podAffinityTerm").get("labelSelector") is None:
                yield f"{place}.podAffinityTerm.labelSelector: {_NO_POD}"


def _amount_warnings(container: JsonObject, at: str) -> Iterator[str]:
    resources = struct(container, "resources")
    for member in ("limits", "requests"):
        for name in ("memory", "ephemeral-storage"):
            amount = quantity_of(struct(resources, member).get(name))
            if amount is not None and amount.nanos % 10**9:
                yield (
                    f"{at}.resources.{member}[{name}]: fractional byte value {quoted(str(amount))} is invalid, "
                    "must be an integer"
                )


def _workload_warnings(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is None:
        yield from _name_warnings(obj, "Pod names and hostnames")
    spec, former = struct(obj, "spec", "template", "spec"), struct(old or {}, "spec", "template", "spec")
    if spec != former:
        yield from _template_warnings(spec, "spec.template.spec")
        yield from profile_warnings(struct(obj, "spec", "template"), "spec.template")


def _cron_job_warnings(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if old is None:
        yield from _name_warnings(obj, "Pod names and hostnames")
    path = ("spec", "jobTemplate", "spec", "template", "spec")
    if (spec := struct(obj, *path)) != struct(old or {}, *path):
        yield from _template_warnings(spec, ".".join(path))
        yield from profile_warnings(struct(obj, *path[:-1]), ".".join(path[:-1]))


def _stateful_set_warnings(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if integer(struct(obj, "spec"), "revisionHistoryLimit") < 0:
        told = "a negative value retains all historical revisions; a value >= 0 is recommended"
        yield f"spec.revisionHistoryLimit: {told}"
    yield from _plain_workload_warnings(obj, old)


def _plain_workload_warnings(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    spec, former = struct(obj, "spec", "template", "spec"), struct(old or {}, "spec", "template", "spec")
    if spec != former:
        yield from _template_warnings(spec, "spec.template.spec")
        yield from profile_warnings(struct(obj, "spec", "template"), "spec.template")


def _pod_template_warnings(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if (spec := struct(obj, "template", "spec")) != struct(old or {}, "template", "spec"):
        yield from _template_warnings(spec, "template.spec")
        yield from profile_warnings(struct(obj, "template"), "template")


def _service_warnings(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    spec = struct(obj, "spec")
    if old is not None and struct(old, "spec") == spec:
        return
    if spec.get("clusterIP") == "None":
        if text(spec, "loadBalancerIP"):
            yield "spec.loadBalancerIP is ignored for headless services"
        if items(spec, "externalIPs"):
            yield "spec.externalIPs is ignored for headless services"
        if spec.get("sessionAffinity") not in (None, "None"):
            yield "spec.SessionAffinity is ignored for headless services"
    if text(spec, "type") == "ExternalName" and items(spec, "externalIPs"):
        yield 'spec.externalIPs is ignored when spec.type is "ExternalName"'
    if text(spec, "type") != "ExternalName" and text(spec, "externalName"):
        yield 'spec.externalName is ignored when spec.type is not "ExternalName"'


def _volume_warnings(obj: JsonObject, _: JsonObject | None) -> Iterator[str]:
    if struct(obj, "spec").get("persistentVolumeReclaimPolicy") == "Recycle":
        yield (
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended "
            "approach is to use dynamic provisioning."
        )


def _claim_warnings(obj: JsonObject, _: JsonObject | None) -> Iterator[str]:
    if _LEGACY_CLASS in struct(obj, "metadata", "annotations"):
        yield f'metadata.annotations[{_LEGACY_CLASS}]: deprecated since v1.8; use "storageClassName" attribute instead'


_LEGACY_CLASS = "volume.beta.kubernetes.io/storage-class"


def _secret_warnings(obj: JsonObject, _: JsonObject | None) -> Iterator[str]:
    if obj.get("type") == "kubernetes.io/tls" and (fault := key_pair_fault(obj)):
        yield fault


def _account_warnings(obj: JsonObject, old: JsonObject | None) -> Iterator[str]:
    if ENFORCED in struct(obj, "metadata", "annotations") and ENFORCED not in struct(old, "metadata", "annotations"):
        yield (
            f"metadata.annotations[{ENFORCED}]: deprecated in v1.32+; prefer separate namespaces to isolate access to "
            "mounted secrets"
        )


_WARNINGS: dict[tuple[str, str], Callable[[JsonObject, JsonObject | None], Iterator[str]]] = {
    ("", "Pod"): _pod_warnings,
    ("", "PodTemplate"): _pod_template_warnings,
    ("", "ReplicationController"): _workload_warnings,
    ("apps", "Deployment"): _workload_warnings,
    ("apps", "ReplicaSet"): _workload_warnings,
    ("apps", "StatefulSet"): _stateful_set_warnings,
    ("apps", "DaemonSet"): _plain_workload_warnings,
    ("batch", "Job"): _workload_warnings,
    ("batch", "CronJob"): _cron_job_warnings,
    ("", "Secret"): _secret_warnings,
    ("", "ServiceAccount"): _account_warnings,
    ("", "Service"): _service_warnings,
    ("", "PersistentVolume"): _volume_warnings,
    ("", "PersistentVolumeClaim"): _claim_warnings,
}


def warnings_of(group: str, kind: str, obj: JsonObject, old: JsonObject | None) -> list[str]:
    """What to warn the writer of the object about; `old` is the object before an update."""
    found = _WARNINGS.get((group, kind))
    return [] if found is None else [each for each, _ in zip(found(obj, old), range(_MOST), strict=False)]
