"""NodeRestriction: a user that is a Node writes only its own Node, Lease and CSINode, and to Pods that are bound to it.

The Node authorizer decides by what a call names; this plugin decides by what the object contains. It sees the writes of
Nodes alone.
"""

from __future__ import annotations

from base64 import b64decode

from homeostat.objects.errors import ApiError, NotFoundError, quoted
from homeostat.objects.json import JsonObject, decode_stored
from homeostat.server.access.attributes import Attributes
from homeostat.server.access.nodes.authorizer import LEASES
from homeostat.server.access.nodes.identity import NODE_PREFIX, node_of
from homeostat.server.admission.plugins.audiences import MissingVolumeError, needs_audience
from homeostat.server.kinds.builtins.members import struct, structs, text
from homeostat.server.kinds.builtins.mirror import MIRROR, is_mirror
from homeostat.server.kinds.builtins.references import config_maps_of, secrets_of
from homeostat.server.request.call import Call
from homeostat.store.base import Key

_KUBELET_LABELS = frozenset(
    {
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    }
)
_KUBELET_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_RESTRICTED = "node-restriction.kubernetes.io"
_OWN_STATUS = ("capacity", "conditions", "allocatedResources", "allocatedResourceStatuses")
"""What a kubelet writes of the status of a claim."""
_OF_KUBELETS = frozenset({"kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"})


def restrict_node(call: Call, obj: JsonObject | None, old: JsonObject | None, operation: str) -> None:
    """403 for a write that a Node may not do; nothing for users that are no Nodes."""
    node = node_of(call.user)
    if node is None:
        return
    if not node:
        raise _denial(call, obj, f"could not determine node from user {quoted(call.user.name)}")
    why = ""
    match call.kind.resource:
        case "pods":
            why = _pod_problem(call, node, obj, old, operation)
        case "nodes":
            why = _node_problem(call, node, obj, old)
        case "persistentvolumeclaims":
            why = _claim_problem(call, node, obj, old)
        case "leases.coordination.k8s.io":
            why = _lease_problem(call, node, obj)
        case "csinodes.storage.k8s.io":
            is_own = _name(call, obj) == node
            why = "" if is_own else "can only access CSINode with the same name as the requesting node"
        case "resourceslices.resource.k8s.io":
            why = _slice_problem(node, obj, old, operation)
        case "certificatesigningrequests.certificates.k8s.io":
            why = _certificate_problem(node, obj) if operation == "CREATE" and obj is not None else ""
    if why:
        raise _denial(call, obj, why)


def restrict_token(call: Call, request: JsonObject) -> None:
    """403 for a Node that asks for a token which is not bound to a Pod of its own."""
    node = node_of(call.user)
    if node is None:
        return
    if not node:
        raise _denial(call, None, f"could not determine node from user {quoted(call.user.name)}")
    bound = struct(request, "spec", "boundObjectRef")
    if bound.get("apiVersion") != "v1" or bound.get("kind") != "Pod" or not text(bound, "name"):
        raise _denial(call, None, "node requested token not bound to a pod")
    if not text(bound, "uid"):
        raise _denial(call, None, "node requested token with a pod binding without a uid")
    pod = _pod(call, text(bound, "name"))
    if bound["uid"] != pod["metadata"]["uid"]:
        raise _denial(
            call,
            None,
            f"the UID in the bound object reference ({bound['uid']}) does not match the UID in record. The object "
            "might have been deleted and then recreated",
        )
    if text(struct(pod, "spec"), "nodeName") != node:
        raise _denial(call, None, "node requested token bound to a pod scheduled on a different node")
    _restrict_audience(call, request, pod)


def _restrict_audience(call: Call, request: JsonObject, pod: JsonObject) -> None:
    audiences = struct(request, "spec").get("audiences") or [""]
    if len(audiences) > 1:
        raise _denial(call, None, "node may only request 0 or 1 audiences")
    audience = str(audiences[0])
    try:
        is_needed = needs_audience(call.store, pod, audience)
    except MissingVolumeError as error:
        raise _denial(call, None, f"error validating audience {quoted(audience)}: {error}") from error
    if is_needed or call.backend.authorize(_of_audience(call, audience)).is_allowed:
        return
    raise _denial(
        call,
        None,
        f"audience {quoted(audience)} not found in pod spec volume, {call.user.name} is not authorized to "
        "request tokens for this audience",
    )


def _of_audience(call: Call, audience: str) -> Attributes:
    """What a role may allow a Node beyond the volumes of its Pods. The audience is the resource."""
    return Attributes(
        call.user,
        "request-serviceaccounts-token-audience",
        version="v1",
        resource=audience,
        namespace=call.namespace,
        name=call.name,
    )


def _denial(call: Call, obj: JsonObject | None, why: str) -> ApiError:
    return call.forbidden(why, _name(call, obj))


def _name(call: Call, obj: JsonObject | None) -> str:
    return call.name or text(struct(obj, "metadata"), "name")


def _pod(call: Call, name: str) -> JsonObject:
    record = call.store.get(Key("pods", call.namespace, name))
    if record is None:
        raise NotFoundError(f"pods {quoted(name)} not found", kind="pods", name=name)
    return decode_stored(record.value)


def _is_on(pod: JsonObject | None, node: str) -> bool:
    return text(struct(pod, "spec"), "nodeName") == node


def _pod_problem(call: Call, node: str, obj: JsonObject | None, old: JsonObject | None, operation: str) -> str:
    match call.subresource, operation:
        case "", "CREATE":
            return _mirror_problem(call, node, obj or {})
        case "", "DELETE":
            if not _is_on(old, node):
                return f"node {quoted(node)} can only delete pods with spec.nodeName set to itself"
        case "", _:
            return (
                f"unexpected operation {quoted(operation)}, node {quoted(node)} can only create and delete mirror pods"
            )
        case "status", "UPDATE":
            return _pod_status_problem(node, obj, old)
        case "eviction", "CREATE":
            if not _is_on(_pod(call, call.name), node):
                return f"node {node} can only evict pods with spec.nodeName set to itself"
        case _:
            return f"unexpected pod subresource {quoted(call.subresource)}, only 'status' and 'eviction' are allowed"
    return ""


def _mirror_problem(call: Call, node: str, pod: JsonObject) -> str:
    who = f"node {quoted(node)}"
    if not is_mirror(pod):
        return f"pod does not have {quoted(MIRROR)} annotation, {who} can only create mirror pods"
    if not _is_on(pod, node):
        return f"{who} can only create pods with spec.nodeName set to itself"
    owners = structs(pod["metadata"], "ownerReferences")
    if len(owners) > 1:
        return f"{who} can only create pods with a single owner reference set to itself"
    owner = owners[0] if owners else {}
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        return f"{who} can only create pods with an owner reference set to itself"
    if owner.get("controller") is not True:
        return f"{who} can only create pods with a controller owner reference set to itself"
    if owner.get("blockOwnerDeletion") is True:
        return f"{who} must not set blockOwnerDeletion on an owner reference"
    record = call.store.get(Key("nodes", "", node))
    if record is None:
        raise NotFoundError(f"nodes {quoted(node)} not found", kind="nodes", name=node)
    uid = decode_stored(record.value)["metadata"]["uid"]
    if owner.get("uid") != uid:
        return f"node {node} UID mismatch: expected {owner.get('uid')} got {uid}"
    referred = _referred(struct(pod, "spec"))
    return f"{who} can not create pods that reference {referred}" if referred else ""


_BY_VOLUME = {
    "csi": "csidrivers (via CSI volumes)",
    "glusterfs": "endpoints (via glusterFS volumes)",
    "persistentVolumeClaim": "persistentvolumeclaims",
    "ephemeral": "persistentvolumeclaims (via ephemeral volumes)",
}
_BY_PROJECTION = {
    "serviceAccountToken": "serviceaccounts (via projected volumes)",
    "clusterTrustBundle": "clustertrustbundles",
    "podCertificate": "podcertificates",
}


def _referred(spec: JsonObject) -> str:
    """The kind of an API object that a Pod refers to; empty if it refers to none."""
    if text(spec, "serviceAccountName"):
        return "serviceaccounts"
    if any(secrets_of(spec)):
        return "secrets"
    if any(config_maps_of(spec)):
        return "configmaps"
    if structs(spec, "resourceClaims"):
        return "resourceclaims"
    for volume in structs(spec, "volumes"):
        for source, kind in _BY_VOLUME.items():
            if source in volume:
                return kind
        for projection in structs(struct(volume, "projected"), "sources"):
            for source, kind in _BY_PROJECTION.items():
                if source in projection:
                    return kind
    return ""


def _pod_status_problem(node: str, obj: JsonObject | None, old: JsonObject | None) -> str:
    who = f"node {quoted(node)}"
    if not _is_on(old, node):
        return f"{who} can only update pod status for pods with spec.nodeName set to itself"  # noqa: S608
    if struct(obj, "metadata", "labels") != struct(old, "metadata", "labels"):
        return f"{who} cannot update labels through pod status"
    after, before = struct(obj, "status"), struct(old, "status")
    if structs(after, "resourceClaimStatuses") != structs(before, "resourceClaimStatuses"):
        return f"{who} cannot update resource claim statues"
    if struct(after, "extendedResourceClaimStatus") != struct(before, "extendedResourceClaimStatus"):
        return f"{who} cannot update extended resource claim status"
    return ""


def _node_problem(call: Call, node: str, obj: JsonObject | None, old: JsonObject | None) -> str:
    who = f"node {quoted(node)}"
    if (name := _name(call, obj)) != node:
        return f"{who} is not allowed to modify node {quoted(name)}"
    if obj is None:
        return ""
    source, former = struct(obj, "spec", "configSource"), struct(old, "spec", "configSource")
    changed = _forbidden_labels(struct(obj, "metadata", "labels"), struct(old, "metadata", "labels"))
    if old is None:
        if source:
            return f"{who} is not allowed to create pods with a non-nil configSource"
        return f"{who} is not allowed to set the following labels: {', '.join(changed)}" if changed else ""
    if source and source != former:
        return f"{who} is not allowed to update configSource to a new non-nil configSource"
    if structs(struct(obj, "spec"), "taints") != structs(struct(old, "spec"), "taints"):
        return f"{who} is not allowed to modify taints"
    if structs(obj["metadata"], "ownerReferences") != structs(old["metadata"], "ownerReferences"):
        return f"{who} is not allowed to modify ownerReferences"
    return f"is not allowed to modify labels: {', '.join(changed)}" if changed else ""


def _forbidden_labels(new: JsonObject, old: JsonObject) -> list[str]:
    return sorted(key for key in {*new, *old} if new.get(key) != old.get(key) and not _may_be_set(key))


def _may_be_set(label: str) -> bool:
    domain = label.partition("/")[0] if "/" in label else ""
    if _is_in(domain, _RESTRICTED):
        return False
    if not (_is_in(domain, "kubernetes.io") or _is_in(domain, "k8s.io")):
        return True
    return label in _KUBELET_LABELS or any(_is_in(domain, each) for each in _KUBELET_DOMAINS)


def _is_in(domain: str, parent: str) -> bool:
    return domain == parent or domain.endswith(f".{parent}")


def _claim_problem(call: Call, node: str, obj: JsonObject | None, old: JsonObject | None) -> str:
    if call.subresource != "status" or obj is None or old is None:
        return "may only update PVC status"
    if _untouched(obj) == _untouched(old):
        return ""
    return f"node {quoted(node)} is not allowed to update fields other than status.quantity and status.conditions"


def _untouched(claim: JsonObject) -> JsonObject:
    metadata = {key: each for key, each in claim["metadata"].items() if key not in ("resourceVersion", "managedFields")}
    status = {key: each for key, each in struct(claim, "status").items() if key not in _OWN_STATUS}
    return {**claim, "metadata": metadata, "status": status}


def _lease_problem(call: Call, node: str, obj: JsonObject | None) -> str:
    if call.namespace != LEASES:
        return f"can only access leases in the {quoted(LEASES)} system namespace"
    is_own = _name(call, obj) == node
    return "" if is_own else "can only access node lease with the same name as the requesting node"


def _slice_problem(node: str, obj: JsonObject | None, old: JsonObject | None, operation: str) -> str:
    if operation == "UPDATE" or _is_on(obj if operation == "CREATE" else old, node):
        return ""
    return f"can only {operation.lower()} ResourceSlice with the same NodeName as the requesting node"


def _certificate_problem(node: str, obj: JsonObject) -> str:
    spec = struct(obj, "spec")
    if text(spec, "signerName") not in _OF_KUBELETS:
        return ""
    # Not before it is needed: it loads the cryptography package.
    from homeostat.server.pki.signing_request import read_request

    wanted = f"{NODE_PREFIX}{node}"
    try:
        found = read_request(b64decode(text(spec, "request"))).common_name
    except ValueError as error:
        return f"unable to parse csr: {error}"
    return "" if found == wanted else f"can only create a node CSR with CN={wanted}"
