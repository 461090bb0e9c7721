"""Defaults of pods and of pod templates, which every workload embeds."""

from __future__ import annotations

from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.members import ensure_struct, integer, set_default, struct, structs, text

CONTAINER_LISTS = ("containers", "initContainers", "ephemeralContainers")
_MODE = 0o644
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_TOKEN_LIFETIME_S = 3600
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
    """Always for the tag `latest`, explicit or implied, unless a digest pins the image."""
    if "@" in image:
        return "IfNotPresent"
    _, colon, tag = image.rpartition("/")[2].partition(":")
    return "Always" if not colon or tag == "latest" else "IfNotPresent"


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
    _default_block_device(volume)


def _default_files(source: JsonObject) -> None:
    for item in structs(source, "items"):
        _default_field_reference(item)


def _default_claim_template(volume: JsonObject) -> None:
    claim = struct(volume, "ephemeral", "volumeClaimTemplate").get("spec")
    if isinstance(claim, dict):
        set_default(claim, "volumeMode", "Filesystem")


def _default_block_device(volume: JsonObject) -> None:
    if isinstance(iscsi := volume.get("iscsi"), dict):
        set_default(iscsi, "iscsiInterface", "default")
    if isinstance(rbd := volume.get("rbd"), dict):
        for name, value in (("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")):
            set_default(rbd, name, value)


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


def _default_requests(resources: Json) -> None:
    """A resource with a limit and no request gets the limit as its request."""
    limits = struct(resources, "limits")
    if limits and (requests := ensure_struct(resources, "requests")) is not None:
        for name, value in limits.items():
            requests.setdefault(name, value)


def _default_pod_template(obj: JsonObject) -> None:
    default_template(obj)


DEFAULTS = {("", "Pod"): _default_pod, ("", "PodTemplate"): _default_pod_template}
