"""What containers may look like: names, images, ports, mounts, resources and what may restart them."""

from __future__ import annotations

from typing import NamedTuple

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import dns1123_label, port_name
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks.pods.environment import check_environment
from homeostat.server.kinds.builtins.checks.pods.handler import PROBES, check_handlers
from homeostat.server.kinds.builtins.checks.pods.mount import check_mounts
from homeostat.server.kinds.builtins.checks.pods.resources import check_resource_claims, check_resources
from homeostat.server.kinds.builtins.checks.pods.security import check_container_security
from homeostat.server.kinds.builtins.members import integer, numbered, struct, text
from homeostat.server.kinds.builtins.value import (
    check_choice,
    check_port,
    check_protocol,
    check_required,
    check_text,
    not_found,
)

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_RESIZE_POLICY = (("resourceName", ("cpu", "memory")), ("restartPolicy", ("NotRequired", "RestartContainer")))


_HANDLED = frozenset((*PROBES, "lifecycle"))


class Surroundings(NamedTuple):
    """What of its pod a container refers to."""

    spec: JsonObject
    volumes: dict[str, str]
    """The sources of valid volumes by name."""
    claims: frozenset[str] = frozenset()
    """The names of the pod's ResourceClaims."""
    is_template: bool = False


def check_containers(name: str, path: str, names: set[str], pod: Surroundings) -> list[Cause]:
    """What is wrong with the containers of one list; `names` are those already taken in the pod."""
    causes: list[Cause] = []
    taken: set[str] = set()
    is_initial = name == "initContainers"
    for at, container in numbered(pod.spec, name, path):
        causes += _check_name(container, at, names)
        causes += _check_container(container, at, pod)
        if is_initial:
            taken = set()
        causes += _check_host_ports(container, path if is_initial else at, taken, pod.spec)
        if is_initial and text(container, "restartPolicy") != "Always":
            said = "may not be set for init containers without restartPolicy=Always"
            given = [each for each in (*PROBES, "lifecycle") if container.get(each) is not None]
            causes += [forbidden(f"{at}.{each}", said) for each in given]
        else:
            if not _HANDLED.isdisjoint(container):
                causes += check_handlers(container, at, _grace_s(pod.spec))
    return causes


def _check_name(container: JsonObject, path: str, names: set[str]) -> list[Cause]:
    causes = check_required(container, "name", path, dns1123_label)
    own = text(container, "name")
    if own and own in names:
        causes.append(duplicate(f"{path}.name", own))
    names.add(own)
    return causes


def _grace_s(spec: JsonObject) -> int | None:
    return integer(spec, "terminationGracePeriodSeconds") if "terminationGracePeriodSeconds" in spec else None


def _check_host_ports(container: JsonObject, path: str, taken: set[str], spec: JsonObject) -> list[Cause]:
    """Each port of the host once; in the network of the host, the container's own."""
    causes: list[Cause] = []
    for at, port in numbered(container, "ports", path):
        number = integer(port, "hostPort")
        if not number:
            continue
        used = f"{text(port, 'protocol')}/{text(port, 'hostIP')}/{number}"
        if used in taken:
            causes.append(duplicate(f"{at}.hostPort", used))
        taken.add(used)
        if spec.get("hostNetwork") is True and number != integer(port, "containerPort"):
            message = "must match `containerPort` when `hostNetwork` is true"
            causes.append(invalid(f"{at}.hostPort", number, message))
    return causes


_NEVER_EPHEMERAL = (
    "ports",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "lifecycle",
    "resources",
    "resizePolicy",
)


def check_ephemeral_containers(path: str, names: set[str], pod: Surroundings) -> list[Cause]:
    """What is wrong with the ephemeral containers; `names` are those of the pod's other containers."""
    causes: list[Cause] = []
    targets = frozenset(names)
    for at, container in numbered(pod.spec, "ephemeralContainers", path):
        causes += _check_name(container, at, names)
        target = text(container, "targetContainerName")
        if target and target not in targets:
            causes.append(not_found(f"{at}.targetContainerName", target))
        said = "cannot be set for an Ephemeral Container"
        causes += [forbidden(f"{at}.{name}", said) for name in _NEVER_EPHEMERAL if container.get(name)]
        for mount_at, mount in numbered(container, "volumeMounts", at):
            for name in ("subPath", "subPathExpr"):
                if text(mount, name):
                    causes.append(forbidden(f"{mount_at}.{name}", said))
        bare = {name: value for name, value in container.items() if name not in _NEVER_EPHEMERAL}
        causes += _check_container(bare, at, pod)
    return causes


def _check_container(container: JsonObject, path: str, pod: Surroundings) -> list[Cause]:
    image = text(container, "image")
    causes: list[Cause] = []
    if not image:
        causes.append(required(f"{path}.image"))
    elif not pod.is_template and image != image.strip():
        causes.append(invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))
    causes += check_choice(container, "imagePullPolicy", path, _PULL_POLICIES)
    causes += check_choice(container, "terminationMessagePolicy", path, ("File", "FallbackToLogsOnError"))
    if "ports" in container:
        causes += _check_ports(container, path)
    if "env" in container or "envFrom" in container:
        causes += check_environment(container, path)
    if "volumeMounts" in container or "volumeDevices" in container:
        causes += check_mounts(container, path, pod.volumes)
    if resources := struct(container, "resources"):
        causes += check_resources(resources, f"{path}.resources")
        if "claims" in resources:
            causes += check_resource_claims(resources, f"{path}.resources", pod.claims)
    if struct(container, "securityContext"):
        causes += check_container_security(container, path, has_host_users=pod.spec.get("hostUsers") is not False)
    if "resizePolicy" in container:
        causes += check_resize_policies(container, path, text(pod.spec, "restartPolicy"))
    return causes


def _check_ports(container: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    for at, port in numbered(container, "ports", path):
        if name := text(port, "name"):
            causes += check_text(name, f"{at}.name", port_name)
            if name in names:
                causes.append(duplicate(f"{at}.name", name))
            names.add(name)
        if not integer(port, "containerPort"):
            causes.append(required(f"{at}.containerPort"))
        else:
            causes += check_port(port["containerPort"], f"{at}.containerPort")
        if integer(port, "hostPort"):
            causes += check_port(port["hostPort"], f"{at}.hostPort")
        causes += check_protocol(port, at)
    return causes


def check_resize_policies(container: JsonObject, path: str, restarts: str = "") -> list[Cause]:
    """`restarts` is the restart policy of the pod."""
    causes: list[Cause] = []
    seen: set[str] = set()
    for at, policy in numbered(container, "resizePolicy", path):
        resource = text(policy, "resourceName")
        if resource in seen:
            causes.append(duplicate(at, resource))
        seen.add(resource)
        for member, known in _RESIZE_POLICY:
            value = text(policy, member)
            if not value:
                causes.append(required(f"{path}.resizePolicy"))
            elif value not in known:
                causes.append(unsupported(f"{path}.resizePolicy", value, known))
        if restarts == "Never" and text(policy, "restartPolicy") != "NotRequired":
            message = "must be 'NotRequired' when `restartPolicy` is 'Never'"
            causes.append(invalid(f"{path}.resizePolicy", text(policy, "restartPolicy"), message))
    return causes
