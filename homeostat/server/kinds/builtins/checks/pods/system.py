"""What depends on the operating system of a pod, and on its users being those of the host."""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.errors import Cause, forbidden, required, unsupported
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import items, numbered, struct, text

_LISTS = ("initContainers", "containers", "ephemeralContainers")
_SYSTEMS = ("linux", "windows")
_LINUX_POD = ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
_LINUX_SECURITY = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_LINUX_CONTAINER = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def check_system(spec: JsonObject, path: str) -> list[Cause]:
    system = spec.get("os")
    if not isinstance(system, dict):
        return []
    name = text(system, "name")
    if not name:
        return [required(f"{path}.os.name")]
    if name not in _SYSTEMS:
        return [unsupported(f"{path}.os", name, _SYSTEMS)]
    return list(_check_linux(spec, path) if name == "linux" else _check_windows(spec, path))


def _containers(spec: JsonObject, path: str) -> Iterator[tuple[str, JsonObject]]:
    for name in _LISTS:
        yield from numbered(spec, name, path)


def _contexts(spec: JsonObject, path: str) -> Iterator[tuple[str, JsonObject]]:
    """The security contexts of the containers."""
    for at, container in _containers(spec, path):
        yield f"{at}.securityContext", struct(container, "securityContext")


def _check_linux(spec: JsonObject, path: str) -> Iterator[Cause]:
    contexts = [(f"{path}.securityContext", struct(spec, "securityContext")), *_contexts(spec, path)]
    for at, context in contexts:
        if context.get("windowsOptions") is not None:
            yield forbidden(f"{at}.windowsOptions", "windows options cannot be set for a linux pod")


def _check_windows(spec: JsonObject, path: str) -> Iterator[Cause]:
    said = "cannot be set for a windows pod"
    for name in _LINUX_POD:
        if spec.get(name) is True or (spec.get(name) is False and name in ("hostUsers", "shareProcessNamespace")):
            yield forbidden(f"{path}.{name}", said)
    context = struct(spec, "securityContext")
    for name in _LINUX_SECURITY:
        if context.get(name) not in (None, []):
            yield forbidden(f"{path}.securityContext.{name}", said)
    for at, each in _contexts(spec, path):
        for name in _LINUX_CONTAINER:
            if each.get(name) is not None:
                yield forbidden(f"{at}.{name}", said)


def check_host_users(spec: JsonObject, path: str) -> list[Cause]:
    """A pod with users of its own shares nothing else with the host."""
    if spec.get("hostUsers") is not False:
        return []
    said = "when `hostUsers` is false"
    # Kubernetes capitalizes two of them.
    names = {"hostNetwork": "hostNetwork", "hostPID": "HostPID", "hostIPC": "HostIPC"}
    causes = [forbidden(f"{path}.{told}", said) for name, told in names.items() if spec.get(name) is True]
    return causes + [
        forbidden(f"{at}.volumeDevices", said) for at, each in _containers(spec, path) if items(each, "volumeDevices")
    ]
