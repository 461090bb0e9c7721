"""What containers may look like: names, images, ports, environment, mounts, resources and probes."""

from __future__ import annotations

from homeostat.objects.errors import Cause, duplicate, forbidden, invalid, required
from homeostat.objects.identifiers import config_key, dns1123_label, env_name, port_name
from homeostat.objects.json import JsonObject
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
    for name in _PROBES:
        if isinstance(container.get(name), dict):
            causes += _check_probe(container[name], f"{path}.{name}", must_succeed_once=name != "readinessProbe")
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
        if not sources:
            causes.append(invalid(f"{at}", "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(sources) > 1:
            causes.append(invalid(f"{at}", "", "may not have more than one field specified at a time"))
        else:
            causes += check_required(env[sources[0]], "name", f"{at}.{sources[0]}")
    return causes


def _check_env_source(source: JsonObject, path: str, *, has_value: bool) -> list[Cause]:
    given = [name for name in _ENV_SOURCES if isinstance(source.get(name), dict)]
    causes: list[Cause] = []
    for name in ("configMapKeyRef", "secretKeyRef"):
        if name in given:
            causes += check_required(source[name], "name", f"{path}.{name}")
            causes += check_required(source[name], "key", f"{path}.{name}", config_key)
    if not given:
        known = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        causes.append(invalid(path, "", f"must specify one of: {known}"))
    elif has_value:
        causes.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(given) > 1:
        causes.append(invalid(path, "", "may not have more than one field specified at a time"))
    return causes


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
        sub_path = text(mount, "subPath")
        if sub_path.startswith("/"):
            causes.append(invalid(f"{at}.subPath", sub_path, "must be a relative path"))
        elif ".." in sub_path.split("/"):
            causes.append(invalid(f"{at}.subPath", sub_path, "must not contain '..'"))
    return causes


def check_resources(resources: JsonObject, path: str) -> list[Cause]:
    limits, requests = struct(resources, "limits"), struct(resources, "requests")
    causes = check_quantities(limits, f"{path}.limits") + check_quantities(requests, f"{path}.requests")
    for name, value in requests.items() if not causes else ():
        wanted, limit = quantity_of(value), quantity_of(limits.get(name))
        if wanted is None or limit is None:
            continue
        if name in _OVERCOMMITTED:
            if wanted > limit:
                message = f"must be less than or equal to {name} limit of {limit}"
                causes.append(invalid(f"{path}.requests", str(wanted), message))
        elif wanted != limit:
            causes.append(invalid(f"{path}.requests", str(wanted), f"must be equal to {name} limit of {limit}"))
    return causes


def _check_probe(probe: JsonObject, path: str, *, must_succeed_once: bool) -> list[Cause]:
    causes = _check_handler(probe, path) + check_counts(probe, path, *_COUNTS)
    if must_succeed_once and integer(probe, "successThreshold", 1) != 1:
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
    elif name in ("httpGet", "tcpSocket", "grpc"):
        causes += check_port_or_name(action.get("port", 0), f"{at}.port")
    if name == "httpGet":
        causes += check_choice(action, "scheme", at, ("HTTP", "HTTPS"))
        if not action.get("path"):
            causes.append(required(f"{at}.path"))
    return causes
