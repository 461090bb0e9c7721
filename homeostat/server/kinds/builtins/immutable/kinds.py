"""What may not change of each built-in kind but the pod."""

from __future__ import annotations

import msgspec

from homeostat.objects.errors import Cause, forbidden, invalid
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.names import IMMUTABLE
from homeostat.objects.quantity import Quantity
from homeostat.server.kinds.builtins.immutable.equality import immutable, is_same, only
from homeostat.server.kinds.builtins.members import strings, struct, structs, text
from homeostat.server.kinds.builtins.value import quantity_of


def namespace(new: JsonObject, old: JsonObject) -> list[Cause]:
    """The phase follows from the deletion; clients may not say otherwise."""
    phase, wanted = text(struct(new, "status"), "phase"), "Active"
    told = "may only be 'Active' if `deletionTimestamp` is empty"
    if struct(new, "metadata").get("deletionTimestamp"):
        wanted, told = "Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty"
    if phase == wanted or phase == text(struct(old, "status"), "phase"):
        return []
    return [invalid("status.Phase", phase, told)]


_EVENT_FIELDS = {
    "regarding": "involvedObject",
    "reason": "reason",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "type": "type",
    "eventTime": "eventTime",
    "action": "action",
    "related": "related",
    "reportingController": "reportingController",
    "reportingInstance": "reportingInstance",
}
"""Of an Event of events.k8s.io, only the series may change. The names in errors are those that v1 has."""


def event(new: JsonObject, old: JsonObject) -> list[Cause]:
    return [
        invalid(told, new.get(name), IMMUTABLE)
        for name, told in _EVENT_FIELDS.items()
        if not is_same(new.get(name), old.get(name))
    ]


def selector(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "selector")


_STATEFUL = frozenset(
    [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ]
)
_STATEFUL_SAID = (
    "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', "
    "'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden"
)


def stateful_set(new: JsonObject, old: JsonObject) -> list[Cause]:
    return only(new, old, _STATEFUL, _STATEFUL_SAID)


_JOB_FIELDS = ("selector", "completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
_SCHEDULING = ("affinity", "nodeSelector", "schedulingGates", "tolerations")


def job(new: JsonObject, old: JsonObject) -> list[Cause]:
    causes = immutable(new, old, *_JOB_FIELDS)
    after, before = struct(new, "spec"), struct(old, "spec")
    is_elastic = text(after, "completionMode") == "Indexed" and after.get("completions") == after.get("parallelism")
    if not is_elastic:
        causes += immutable(new, old, "completions")
    templates = after.get("template"), before.get("template")
    # The scheduling fields of a suspended job that has not started may change.
    if before.get("suspend") is True and not struct(old, "status").get("startTime"):
        templates = _unscheduled(templates[0]), _unscheduled(templates[1])
    if not is_same(*templates):
        causes.append(invalid("spec.template", after.get("template"), IMMUTABLE))
    return causes


def _unscheduled(template: object) -> JsonObject:
    pod = {name: value for name, value in struct(template, "spec").items() if name not in _SCHEDULING}
    rest = {name: value for name, value in struct(template).items() if name != "metadata"}
    return {**rest, "spec": pod}


_SEALED = "field is immutable when `immutable` is set"


def config_map(new: JsonObject, old: JsonObject) -> list[Cause]:
    """A ConfigMap with `immutable: true` may not change."""
    if old.get("immutable") is not True:
        return []
    causes = [] if new.get("immutable") is True else [forbidden("immutable", _SEALED)]
    names = [name for name in ("data", "binaryData") if not is_same(new.get(name), old.get(name))]
    return causes + [forbidden(name, _SEALED) for name in names]


def secret(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "type", path="") + config_map(new, old)


def service(new: JsonObject, old: JsonObject) -> list[Cause]:
    """The cluster address may not change, unless the type becomes ExternalName, nor the port of health checks and the
    class of a load balancer.
    """
    after, before = struct(new, "spec"), struct(old, "spec")
    if all(_is_checked_on_nodes(each) for each in (after, before)):
        port, former = after.get("healthCheckNodePort"), before.get("healthCheckNodePort")
        if former and port != former:
            return [forbidden("spec.healthCheckNodePort", IMMUTABLE)]
    if text(after, "type") == text(before, "type") == "LoadBalancer":
        name, former = after.get("loadBalancerClass"), before.get("loadBalancerClass")
        if name != former:
            return [invalid("spec.loadBalancerClass", name, "may not change once set")]
    given, had = text(after, "clusterIP"), text(before, "clusterIP")
    if text(after, "type") == "ExternalName" or text(before, "type") == "ExternalName":
        return []
    if given and had and given != had:
        return [invalid("spec.clusterIPs[0]", strings(after, "clusterIPs") or [given], "may not change once set")]
    return []


def _is_checked_on_nodes(spec: JsonObject) -> bool:
    return text(spec, "type") == "LoadBalancer" and text(spec, "externalTrafficPolicy") == "Local"


_LEGACY_CLASS = "volume.beta.kubernetes.io/storage-class"
_CLAIM_SAID = (
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"
)


def claim(new: JsonObject, old: JsonObject) -> list[Cause]:
    after, before, status = struct(new, "spec"), struct(old, "spec"), struct(old, "status")
    free: set[str] = set()
    kept = new
    if text(struct(new, "status"), "phase") == "Bound":
        free.add("volumeAttributesClassName")
        kept = _with_storage_of(new, old)
    # Binding a claim to its volume is allowed, and so is a first class.
    if not text(before, "volumeName"):
        free.add("volumeName")
    legacy, said = (struct(each, "metadata", "annotations").get(_LEGACY_CLASS) for each in (old, new))
    wanted_class = after.get("storageClassName")
    is_upgraded = before.get("storageClassName") is None and (legacy is None or wanted_class == legacy)
    if is_upgraded:
        free.add("storageClassName")
    causes = []
    is_moved = is_upgraded and legacy is not None and said in (None, legacy)
    if not is_moved and (said or "") != (legacy or ""):
        causes.append(invalid(f"metadata.annotations.{_LEGACY_CLASS}", said or "", IMMUTABLE))
    causes += only(kept, old, frozenset(free), _CLAIM_SAID)
    wanted, had = (quantity_of(struct(each, "resources", "requests").get("storage")) for each in (after, before))
    capacity = quantity_of(struct(status, "capacity").get("storage"))
    if wanted is not None and had is not None and wanted < had and not wanted > (capacity or Quantity(0)):
        message = "field can not be less than status.capacity"
        causes.append(forbidden("spec.resources.requests.storage", message))
    causes += immutable(after, before, "volumeMode", path="")
    if status.get("currentVolumeAttributesClassName") is not None:
        causes += _check_attributes_class(after, before)
    return causes


def _with_storage_of(new: JsonObject, old: JsonObject) -> JsonObject:
    """The new claim with the former request of storage, which may change."""
    spec = struct(new, "spec")
    resources, asked = struct(spec, "resources"), struct(spec, "resources", "requests")
    if not asked:
        return new
    requests = {**asked, "storage": struct(old, "spec", "resources", "requests").get("storage")}
    return {**new, "spec": {**spec, "resources": {**resources, "requests": requests}}}


def _check_attributes_class(after: JsonObject, before: JsonObject) -> list[Cause]:
    """A class that was applied stays, or becomes another one."""
    wanted = after.get("volumeAttributesClassName")
    if wanted or wanted == before.get("volumeAttributesClassName"):
        return []
    what = "nil" if wanted is None else "empty string"
    message = f"update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil"
    return [forbidden("spec.volumeAttributesClassName", message)]


# The fields of a PersistentVolume's spec other than its source.
VOLUME_FIELDS = frozenset(
    [
        "capacity",
        "accessModes",
        "claimRef",
        "persistentVolumeReclaimPolicy",
        "storageClassName",
        "mountOptions",
        "volumeMode",
        "nodeAffinity",
        "volumeAttributesClassName",
    ]
)


def volume(new: JsonObject, old: JsonObject) -> list[Cause]:
    causes = immutable(new, old, "volumeMode")
    reach, former = (struct(each, "spec").get("nodeAffinity") for each in (new, old))
    if former is not None and not is_same(_renamed(reach), _renamed(former)):
        message = f"{IMMUTABLE}, except for updating from beta label to GA"
        causes.append(invalid("nodeAffinity", reach, message))
    has_secret = struct(old, "spec", "csi").get("controllerExpandSecretRef") is not None
    if not is_same(_source(new, keeps_secret=has_secret), _source(old, keeps_secret=has_secret)):
        message = "spec.persistentvolumesource is immutable after creation"
        causes.append(forbidden("spec.persistentvolumesource", message))
    return causes


def _source(obj: JsonObject, *, keeps_secret: bool) -> JsonObject:
    """The source of a volume, without the secret that may be added."""
    source = {name: value for name, value in struct(obj, "spec").items() if name not in VOLUME_FIELDS}
    if keeps_secret or not isinstance(csi := source.get("csi"), dict):
        return source
    return {**source, "csi": {name: value for name, value in csi.items() if name != "controllerExpandSecretRef"}}


_LABELS = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
}


def _renamed(affinity: Json) -> Json:
    """With the names that labels of Nodes have today."""
    match affinity:
        case dict():
            renamed = {name: _renamed(value) for name, value in affinity.items()}
            key = renamed.get("key")
            return {**renamed, "key": _LABELS[key]} if isinstance(key, str) and key in _LABELS else renamed
        case list():
            return [_renamed(each) for each in affinity]
    return affinity


def storage_class(new: JsonObject, old: JsonObject) -> list[Cause]:
    causes = [
        forbidden(name, f"updates to {name} are forbidden.")
        for name in ("parameters", "provisioner", "reclaimPolicy")
        if not is_same(new.get(name), old.get(name))
    ]
    return causes + immutable(new, old, "volumeBindingMode", path="")


def attachment(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "spec", path="")


def binding(new: JsonObject, old: JsonObject) -> list[Cause]:
    if is_same(new.get("roleRef"), old.get("roleRef")):
        return []
    return [invalid("roleRef", new.get("roleRef"), "cannot change roleRef")]


def ingress_class(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "controller")


def endpoint_slice(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "addressType", path="")


def priority_class(new: JsonObject, old: JsonObject) -> list[Cause]:
    causes = immutable(new, old, "preemptionPolicy", path="")
    if new.get("value") != old.get("value"):
        causes.append(forbidden("value", "may not be changed in an update."))
    return causes


def controller_revision(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "data", path="")


def resource_quota(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "scopes")


def runtime_class(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "handler", path="")


def csi_driver(new: JsonObject, old: JsonObject) -> list[Cause]:
    causes = immutable(new, old, "attachRequired", "volumeLifecycleModes")
    # Kubernetes misspells the field.
    return [msgspec.structs.replace(each, field=each.field.replace("attachR", "attachedR")) for each in causes]


def csi_node(new: JsonObject, old: JsonObject) -> list[Cause]:
    """The entry of a driver may go and come, and not change but for what the node can attach."""
    before = {text(each, "name"): each for each in structs(struct(old, "spec"), "drivers")}
    causes: list[Cause] = []
    for driver in structs(struct(new, "spec"), "drivers"):
        former = before.get(text(driver, "name"))
        if former is not None and not is_same({**driver, "allocatable": None}, {**former, "allocatable": None}):
            causes.append(invalid("spec.drivers", driver, IMMUTABLE))
    return causes


def storage_capacity(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "nodeTopology", "storageClassName", path="")


def attributes_class(new: JsonObject, old: JsonObject) -> list[Cause]:
    return [
        forbidden(name, f"updates to {name} are forbidden.")
        for name in ("driverName", "parameters")
        if not is_same(new.get(name), old.get(name))
    ]


def ip_address(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "parentRef")


def service_cidr(new: JsonObject, old: JsonObject) -> list[Cause]:
    """A range of the other family may be added; nothing else may change."""
    after, before = strings(struct(new, "spec"), "cidrs"), strings(struct(old, "spec"), "cidrs")
    if len(after) == len(before) or (len(before), len(after)) == (1, 2):
        pairs = zip(after, before, strict=False)
        return [
            invalid(f"spec.cidrs[{index}]", given, IMMUTABLE)
            for index, (given, had) in enumerate(pairs)
            if given != had
        ]
    return [invalid("spec.cidrs", after, IMMUTABLE)]


def resource_claim(new: JsonObject, old: JsonObject) -> list[Cause]:
    causes = immutable(new, old, "spec", path="")
    allocated, before = struct(new, "status").get("allocation"), struct(old, "status").get("allocation")
    if allocated is not None and before is not None and not is_same(allocated, before):
        causes.append(invalid("status.allocation", allocated, IMMUTABLE))
    return causes


def claim_template(new: JsonObject, old: JsonObject) -> list[Cause]:
    return immutable(new, old, "spec", path="")


def resource_slice(new: JsonObject, old: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    name, had = struct(new, "spec", "pool").get("name"), struct(old, "spec", "pool").get("name")
    if name != had:
        causes.append(invalid("spec.pool.name", name, IMMUTABLE))
    return causes + immutable(new, old, "driver", "nodeName")


def signing_request(new: JsonObject, old: JsonObject) -> list[Cause]:
    """A decision on a request is final, and so is its certificate."""
    after, before = struct(new, "status"), struct(old, "status")
    types = {text(each, "type") for each in structs(after, "conditions")}
    causes = [
        forbidden("status.conditions", f'updates may not remove a condition of type "{kind}"')
        for kind in ("Approved", "Denied", "Failed")
        if kind not in types and any(text(each, "type") == kind for each in structs(before, "conditions"))
    ]
    if text(before, "certificate") and text(after, "certificate") != text(before, "certificate"):
        causes.append(forbidden("status.certificate", "updates may not modify existing certificate content"))
    return causes


def node(new: JsonObject, old: JsonObject) -> list[Cause]:
    after, before = struct(new, "spec"), struct(old, "spec")
    causes: list[Cause] = []
    had = strings(before, "podCIDRs")
    if had and strings(after, "podCIDRs") != had:
        message = 'node updates may not change podCIDR except from "" to valid'
        causes.append(forbidden("spec.podCIDRs", message))
    if text(before, "providerID") and text(after, "providerID") != text(before, "providerID"):
        message = 'node updates may not change providerID except from "" to valid'
        causes.append(forbidden("spec.providerID", message))
    return causes
