"""What containers may look like: names, images, ports, environment, mounts, resources and probes."""

from __future__ import annotations

import re

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required, unsupported
from homeostat.objects.identifiers import config_key, dns1123_label, dns1123_subdomain, env_name, port_name
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks.pods.security import check_container_security
from homeostat.server.kinds.builtins.members import integer, numbered, struct, text
from homeostat.server.kinds.builtins.value import (
    check_choice,
    check_counts,
    check_port,
    check_port_or_name,
    check_protocol,
    check_quantities,
    check_required,
    check_text,
    not_found,
    quantity_of,
)

_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_ENV_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_COUNTS = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_RESIZE_POLICY = (("resourceName", ("cpu", "memory")), ("restartPolicy", ("NotRequired", "RestartContainer")))
_ENV_FIELDS = frozenset(
    [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    ]
)
_OTHER_FIELDS = frozenset(
    [
        "metadata.labels",
        "metadata.annotations",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.hostNetwork",
        "status.phase",
        "status.nominatedNodeName",
    ]
)
_subscripted = re.compile(r"metadata\.(labels|annotations)\['.+'\]").fullmatch
_ENV_RESOURCES = tuple(
    f"{kind}.{name}" for kind in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_header = re.compile("[-A-Za-z0-9]+").fullmatch
# May be requested beyond what is guaranteed.
_OVERCOMMITTED = ("cpu", "memory", "ephemeral-storage")


def check_containers(spec: JsonObject, name: str, path: str, names: set[str], volumes: set[str]) -> list[Cause]:
    """What is wrong with the containers of one list; `names` are those already taken in the pod."""
    causes: list[Cause] = []
    for at, container in numbered(spec, name, path):
        causes += check_required(container, "name", at, dns1123_label)
        own = text(container, "name")
        if own and own in names:
            causes.append(duplicate(f"{at}.name", own))
        names.add(own)
        causes += _check_container(container, at, volumes)
        if name == "initContainers" and text(container, "restartPolicy") != "Always":
            said = "may not be set for init containers without restartPolicy=Always"
            causes += [forbidden(f"{at}.{each}", said) for each in (*_PROBES, "lifecycle") if container.get(each)]
    return causes + _check_host_ports(spec, name, path)


def _check_host_ports(spec: JsonObject, name: str, path: str) -> list[Cause]:
    """Each port of the host once; in the network of the host, the container's own."""
    causes: list[Cause] = []
    taken: set[str] = set()
    for at, container in numbered(spec, name, path):
        for port_at, port in numbered(container, "ports", at):
            number = integer(port, "hostPort")
            if not number:
                continue
            used = f"{text(port, 'protocol')}/{text(port, 'hostIP')}/{number}"
            if used in taken:
                causes.append(duplicate(f"{port_at}.hostPort", used))
            taken.add(used)
            if spec.get("hostNetwork") is True and number != integer(port, "containerPort"):
                message = "must match `containerPort` when `hostNetwork` is true"
                causes.append(invalid(f"{port_at}.hostPort", number, message))
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


def check_ephemeral_containers(spec: JsonObject, path: str, names: set[str], volumes: set[str]) -> list[Cause]:
    """What is wrong with the ephemeral containers; `names` are those of the pod's other containers."""
    causes: list[Cause] = []
    targets = frozenset(names)
    for at, container in numbered(spec, "ephemeralContainers", path):
        causes += check_required(container, "name", at, dns1123_label)
        own = text(container, "name")
        if own and own in names:
            causes.append(duplicate(f"{at}.name", own))
        names.add(own)
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
        causes += _check_container(bare, at, volumes)
    return causes


def _check_container(container: JsonObject, path: str, volumes: set[str]) -> list[Cause]:
    image = text(container, "image")
    causes: list[Cause] = []
    if not image:
        causes.append(required(f"{path}.image"))
    elif image != image.strip():
        causes.append(invalid(f"{path}.image", image, "must not have leading or trailing whitespace"))
    causes += check_choice(container, "imagePullPolicy", path, _PULL_POLICIES)
    causes += check_choice(container, "terminationMessagePolicy", path, ("File", "FallbackToLogsOnError"))
    causes += _check_ports(container, path)
    causes += _check_env(container, path)
    causes += _check_mounts(container, path, volumes)
    if resources := struct(container, "resources"):
        causes += check_resources(resources, f"{path}.resources")
    causes += check_container_security(container, path)
    causes += check_resize_policies(container, path)
    for name in _PROBES:
        if isinstance(container.get(name), dict):
            causes += _check_probe(container[name], f"{path}.{name}", is_readiness=name == "readinessProbe")
    for name, handler in struct(container, "lifecycle").items():
        if isinstance(handler, dict):
            causes += _check_handler(handler, f"{path}.lifecycle.{name}")
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


def _check_env(container: JsonObject, path: str) -> list[Cause]:
    causes: list[Cause] = []
    for at, env in numbered(container, "env", path):
        causes += check_required(env, "name", at, env_name)
        if isinstance(source := env.get("valueFrom"), dict):
            causes += _check_env_source(source, f"{at}.valueFrom", has_value=bool(env.get("value")))
    for at, env in numbered(container, "envFrom", path):
        sources = [name for name in ("configMapRef", "secretRef") if isinstance(env.get(name), dict)]
        if prefix := text(env, "prefix"):
            causes += check_text(prefix, f"{at}.prefix", env_name)
        if not sources:
            causes.append(invalid(f"{path}.envFrom", "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(sources) > 1:
            causes.append(invalid(f"{path}.envFrom", "", "may not have more than one field specified at a time"))
        else:
            causes += check_required(env[sources[0]], "name", f"{at}.{sources[0]}", dns1123_subdomain)
    return causes


def _check_env_source(source: JsonObject, path: str, *, has_value: bool) -> list[Cause]:
    given = [name for name in _ENV_SOURCES if isinstance(source.get(name), dict)]
    causes: list[Cause] = []
    if "fieldRef" in given:
        causes += _check_field(source["fieldRef"], f"{path}.fieldRef.fieldPath")
    if "resourceFieldRef" in given:
        causes += _check_resource_field(source["resourceFieldRef"], f"{path}.resourceFieldRef")
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in given:
            causes += check_text(text(source[name], "name"), f"{path}.{name}.name", dns1123_subdomain)
            causes += check_required(source[name], "key", f"{path}.{name}", config_key)
    if not given:
        known = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        causes.append(invalid(path, "", f"must specify one of: {known}"))
    elif has_value:
        causes.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        causes.append(invalid(path, "", "may not have more than one field specified at a time"))
    return causes


def _check_field(reference: JsonObject, path: str) -> list[Cause]:
    field = text(reference, "fieldPath")
    if not field:
        return [required(path)]
    if field in _ENV_FIELDS or _subscripted(field):
        return []
    if field in _OTHER_FIELDS:
        return [unsupported(path, field, _ENV_FIELDS)]
    return [invalid(path, field, f"error converting fieldPath: field label not supported: {field}")]


def _check_resource_field(reference: JsonObject, path: str) -> list[Cause]:
    resource = text(reference, "resource")
    if not resource:
        return [required(f"{path}.resource")]
    if resource in _ENV_RESOURCES or resource.partition(".")[2].startswith("hugepages-"):
        return []
    return [unsupported(f"{path}.resource", resource, _ENV_RESOURCES)]


def _check_mounts(container: JsonObject, path: str, volumes: set[str]) -> list[Cause]:
    causes: list[Cause] = []
    taken: set[str] = set()
    for at, mount in numbered(container, "volumeMounts", path):
        name, mount_path = text(mount, "name"), text(mount, "mountPath")
        if not name:
            causes.append(required(f"{at}.name"))
        elif name not in volumes:
            causes.append(not_found(f"{at}.name", name))
        if not mount_path:
            causes.append(required(f"{at}.mountPath"))
        elif mount_path in taken:
            causes.append(invalid(f"{at}.mountPath", mount_path, "must be unique"))
        taken.add(mount_path)
        # Kubernetes leaves out the index of these.
        base = f"{path}.volumeMounts"
        sub_path = text(mount, "subPath")
        if sub_path.startswith("/"):
            causes.append(invalid(f"{base}.subPath", sub_path, "must be a relative path"))
        elif ".." in sub_path.split("/"):
            causes.append(invalid(f"{base}.subPath", sub_path, "must not contain '..'"))
        causes += check_choice(mount, "mountPropagation", base, ("Bidirectional", "HostToContainer", "None"))
    return causes


def check_resize_policies(container: JsonObject, path: str) -> list[Cause]:
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
    return causes


def check_resources(resources: JsonObject, path: str) -> list[Cause]:
    limits, requests = struct(resources, "limits"), struct(resources, "requests")
    causes: list[Cause] = []
    for kind, amounts in (("limits", limits), ("requests", requests)):
        causes += check_quantities(amounts, f"{path}.{kind}")
        for name, value in amounts.items():
            causes += _check_resource(name, value, f"{path}.{kind}[{name}]")
    has_pages = any(name.startswith("hugepages-") for name in (*limits, *requests))
    if has_pages and not any(name in each for name in ("cpu", "memory") for each in (limits, requests)):
        causes.append(forbidden(path, "HugePages require cpu or memory"))
    for name, value in requests.items() if not causes else ():
        wanted, limit = quantity_of(value), quantity_of(limits.get(name))
        if wanted is not None and limit is None and name not in _OVERCOMMITTED:
            causes.append(required(f"{path}.limits", "Limit must be set for non overcommitable resources"))
        if wanted is None or limit is None:
            continue
        if name in _OVERCOMMITTED:
            if wanted > limit:
                message = f"must be less than or equal to {name} limit of {limit}"
                causes.append(invalid(f"{path}.requests", str(wanted), message))
        elif wanted != limit:
            causes.append(invalid(f"{path}.requests", str(wanted), f"must be equal to {name} limit of {limit}"))
    return causes


def _check_resource(name: str, value: object, path: str) -> list[Cause]:
    if "/" not in name:
        if name in _OVERCOMMITTED or name.startswith("hugepages-"):
            return []
        return [
            invalid(path, name, "must be a standard resource type or fully qualified"),
            invalid(path, name, "must be a standard resource for containers"),
        ]
    amount = quantity_of(value)
    is_whole = amount is None or amount.nanos % 10**9 == 0
    return [] if is_whole else [invalid(path, value, "must be an integer")]


def _check_probe(probe: JsonObject, path: str, *, is_readiness: bool) -> list[Cause]:
    causes = _check_handler(probe, path) + check_counts(probe, path, *_COUNTS)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and is_readiness:
        message = "must not be set for readinessProbes"
        causes.append(invalid(f"{path}.terminationGracePeriodSeconds", grace, message))
    elif grace is not None and integer(probe, "terminationGracePeriodSeconds") <= 0:
        causes.append(invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0"))
    if not is_readiness and integer(probe, "successThreshold", 1) != 1:
        causes.append(invalid(f"{path}.successThreshold", probe["successThreshold"], "must be 1"))
    return causes


def _check_handler(handler: JsonObject, path: str) -> list[Cause]:
    given = [name for name in _HANDLERS if isinstance(handler.get(name), dict)]
    if not given:
        return [required(path, "must specify a handler type")]
    causes = [forbidden(f"{path}.{each}", "may not specify more than 1 handler type") for each in given[1:]]
    name, action = given[0], handler[given[0]]
    at = f"{path}.{name}"
    if name == "exec" and not action.get("command"):
        causes.append(required(f"{at}.command"))
    elif name == "sleep" and integer(action, "seconds") < 0:
        causes.append(invalid(at, action["seconds"], "must be non-negative"))
    elif name in ("httpGet", "tcpSocket", "grpc"):
        causes += check_port_or_name(action.get("port", 0), f"{at}.port")
    if name == "httpGet":
        causes += check_choice(action, "scheme", at, ("HTTP", "HTTPS"))
        for _, header in numbered(action, "httpHeaders", at):
            if not _header(text(header, "name")):
                message = "a valid HTTP header must consist of alphanumeric characters or '-'"
                causes.append(invalid(f"{at}.httpHeaders", text(header, "name"), message))
        if not action.get("path"):
            causes.append(required(f"{at}.path"))
    return causes
