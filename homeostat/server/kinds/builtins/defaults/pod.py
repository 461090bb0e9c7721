"""Defaults of pods and of pod templates, which every workload embeds."""

from __future__ import annotations

import re

from homeostat.objects.json import Json, JsonObject
from homeostat.objects.quantity import Quantity
from homeostat.server.kinds.builtins.members import ensure_struct, integer, set_default, struct, structs, text
from homeostat.server.kinds.builtins.requested import requested

CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
_MODE = 0o644
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_TOKEN_LIFETIME_S = 3600
_PART = "[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_image = re.compile(
    rf"(?:[A-Za-z0-9.-]+(?::[0-9]+)?/)?{_PART}(?:/{_PART})*(?::[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?"
).fullmatch
_digest = re.compile("sha256:[0-9a-f]{64}|sha384:[0-9a-f]{96}|sha512:[0-9a-f]{128}").fullmatch
_MODE_VOLUMES = ("secret", "configMap", "downwardAPI", "projected")


def default_template(owner: JsonObject, name: str = "template") -> None:
    """Create a missing pod template and its missing spec."""
    template = ensure_struct(owner, name)
    if template is None:
        return
    # Present even if empty: Kubernetes encodes a null creationTimestamp.
    template.setdefault("metadata", {})
    if (spec := ensure_struct(template, "spec")) is not None:
        default_pod_spec(spec)


def default_pod_spec(spec: JsonObject) -> None:
    set_default(spec, "dnsPolicy", "ClusterFirst")
    set_default(spec, "restartPolicy", "Always")
    set_default(spec, "schedulerName", "default-scheduler")
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}
    if spec.get("terminationGracePeriodSeconds") is None:
        spec["terminationGracePeriodSeconds"] = 30
    _default_account(spec)
    for name in CONTAINER_LISTS:
        for container in structs(spec, name):
            _default_container(container)
    for volume in structs(spec, "volumes"):
        _default_volume(volume)
    if spec.get("hostNetwork") is True:
        _default_host_ports(spec)


def _default_account(spec: JsonObject) -> None:
    """`serviceAccount` is the old name of `serviceAccountName`; both are set."""
    account = text(spec, "serviceAccountName") or text(spec, "serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _default_container(container: JsonObject) -> None:
    set_default(container, "imagePullPolicy", _pull_policy(text(container, "image")))
    set_default(container, "terminationMessagePath", "/dev/termination-log")
    set_default(container, "terminationMessagePolicy", "File")
    if container.get("resources") is None:
        container["resources"] = {}
    for port in structs(container, "ports"):
        set_default(port, "protocol", "TCP")
    for name in _PROBES:
        if isinstance(probe := container.get(name), dict):
            _default_probe(probe)
    for handler in struct(container, "lifecycle").values():
        _default_http(struct(handler))
    for env in structs(container, "env"):
        _default_field_reference(struct(env, "valueFrom"))


def _pull_policy(image: str) -> str:
    """Always for the tag `latest`, explicit or implied. A digest implies none, and what is no image has none."""
    name, at, digest = image.partition("@")
    if not _image(name) or (at and not _digest(digest)):
        return "IfNotPresent"
    _, colon, tag = name.rpartition("/")[2].partition(":")
    return "Always" if tag == "latest" or not (colon or at) else "IfNotPresent"


def _default_probe(probe: JsonObject) -> None:
    for name, value in (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)):
        if not probe.get(name):
            probe[name] = value
    _default_http(probe)
    if isinstance(grpc := probe.get("grpc"), dict) and grpc.get("service") is None:
        grpc["service"] = ""


def _default_http(handler: JsonObject) -> None:
    if isinstance(http := handler.get("httpGet"), dict):
        set_default(http, "path", "/")
        set_default(http, "scheme", "HTTP")


def _default_field_reference(holder: JsonObject) -> None:
    if isinstance(reference := holder.get("fieldRef"), dict):
        set_default(reference, "apiVersion", "v1")


def _default_volume(volume: JsonObject) -> None:
    if not any(value is not None for name, value in volume.items() if name != "name"):
        volume["emptyDir"] = {}
        return
    for name in _MODE_VOLUMES:
        if isinstance(source := volume.get(name), dict):
            if source.get("defaultMode") is None:
                source["defaultMode"] = _MODE
            _default_files(source)
    if isinstance(path := volume.get("hostPath"), dict) and path.get("type") is None:
        path["type"] = ""
    for source in structs(struct(volume, "projected"), "sources"):
        if isinstance(token := source.get("serviceAccountToken"), dict) and token.get("expirationSeconds") is None:
            token["expirationSeconds"] = _TOKEN_LIFETIME_S
        _default_files(struct(source, "downwardAPI"))
    _default_claim_template(volume)
    default_block_device(volume)


def _default_files(source: JsonObject) -> None:
    for item in structs(source, "items"):
        _default_field_reference(item)


def _default_claim_template(volume: JsonObject) -> None:
    claim = struct(volume, "ephemeral", "volumeClaimTemplate").get("spec")
    if isinstance(claim, dict) and claim.get("volumeMode") is None:
        claim["volumeMode"] = "Filesystem"


_BLOCK_DEVICES: dict[str, JsonObject] = {
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {"cachingMode": "ReadWrite", "kind": "Shared", "fsType": "ext4", "readOnly": False},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
}


def default_block_device(holder: JsonObject) -> None:
    """Defaults of the sources that a volume of a Pod and a PersistentVolume have in common."""
    for name, defaults in _BLOCK_DEVICES.items():
        if isinstance(source := holder.get(name), dict):
            for member, value in defaults.items():
                # Azure's may be empty, as far as a default is concerned.
                if name != "azureDisk" or source.get(member) is None:
                    set_default(source, member, value)


def _default_host_ports(spec: JsonObject) -> None:
    for name in CONTAINER_LISTS[:2]:
        for container in structs(spec, name):
            for port in structs(container, "ports"):
                if not port.get("hostPort") and port.get("containerPort"):
                    port["hostPort"] = port["containerPort"]


def _default_pod(obj: JsonObject) -> None:
    if (spec := ensure_struct(obj, "spec")) is None:
        return
    default_pod_spec(spec)
    if integer(spec, "terminationGracePeriodSeconds") < 0:
        spec["terminationGracePeriodSeconds"] = 1
    if spec.get("enableServiceLinks") is None:
        spec["enableServiceLinks"] = True
    # Only for pods, not for templates, as in Kubernetes.
    for name in CONTAINER_LISTS[:2]:
        for container in structs(spec, name):
            _default_requests(container.get("resources"))
    if isinstance(resources := spec.get("resources"), dict):
        _default_pod_requests(spec, resources)


def _default_pod_requests(spec: JsonObject, resources: JsonObject) -> None:
    """A Pod with limits of its own requests what its containers do, or else what its limits are."""
    limits = struct(resources, "limits")
    if not limits or (requests := ensure_struct(resources, "requests")) is None:
        return
    totals = requested(spec)
    for name in ("cpu", "memory"):
        if name not in requests and name in totals:
            requests[name] = str(Quantity(totals[name], "BinarySI" if name == "memory" else "DecimalSI"))
    for name, value in limits.items():
        if name in ("cpu", "memory") or name.startswith("hugepages-"):
            requests.setdefault(name, value)
    if not requests:
        del resources["requests"]


def _default_requests(resources: Json) -> None:
    """A resource with a limit and no request gets the limit as its request."""
    limits = struct(resources, "limits")
    if limits and (requests := ensure_struct(resources, "requests")) is not None:
        for name, value in limits.items():
            requests.setdefault(name, value)


def _default_pod_template(obj: JsonObject) -> None:
    default_template(obj)


DEFAULTS = {("", "Pod"): _default_pod, ("", "PodTemplate"): _default_pod_template}
