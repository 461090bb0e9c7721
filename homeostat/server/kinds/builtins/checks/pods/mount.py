"""Where a container finds the volumes of its pod: mounts, and devices of claims."""

from __future__ import annotations

from homeostat.objects.errors import Cause, forbidden, invalid, required
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks.pods.source import check_descending
from homeostat.server.kinds.builtins.members import numbered, struct, structs, text
from homeostat.server.kinds.builtins.value import check_choice, not_found

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")
_CLAIMS = ("ephemeral", "persistentVolumeClaim")


def check_mounts(container: JsonObject, path: str, volumes: dict[str, str]) -> list[Cause]:
    """`volumes` has the sources of the pod's volumes by name."""
    causes: list[Cause] = []
    devices = structs(container, "volumeDevices")
    names, paths = {text(each, "name") for each in devices}, {text(each, "devicePath") for each in devices}
    taken: set[str] = set()
    for at, mount in numbered(container, "volumeMounts", path):
        name, mount_path = text(mount, "name"), text(mount, "mountPath")
        if not name:
            causes.append(required(f"{at}.name"))
        if name not in volumes:
            causes.append(not_found(f"{at}.name", name))
        if not mount_path:
            causes.append(required(f"{at}.mountPath"))
        if mount_path in taken:
            causes.append(invalid(f"{at}.mountPath", mount_path, "must be unique"))
        taken.add(mount_path)
        if name in names:
            causes.append(invalid(f"{at}.name", name, "must not already exist in volumeDevices"))
        if mount_path in paths:
            message = "must not already exist as a path in volumeDevices"
            causes.append(invalid(f"{at}.mountPath", mount_path, message))
        # Kubernetes leaves out the index of these.
        causes += _check_mount(mount, at, f"{path}.volumeMounts", struct(container, "securityContext"))
    return causes + (_check_devices(container, path, volumes) if devices else [])


def _check_mount(mount: JsonObject, path: str, base: str, security: JsonObject) -> list[Cause]:
    inner, expression = text(mount, "subPath"), text(mount, "subPathExpr")
    causes = check_descending(inner, f"{base}.subPath") if inner else []
    if expression:
        causes += check_descending(expression, f"{base}.subPathExpr")
    if inner and expression:
        message = "subPathExpr and subPath are mutually exclusive"
        causes.append(invalid(f"{path}.subPathExpr", expression, message))
    causes += check_choice(mount, "mountPropagation", base, _PROPAGATIONS)
    propagation = mount.get("mountPropagation")
    if propagation == "Bidirectional" and security.get("privileged") is not True:
        message = "Bidirectional mount propagation is available only to privileged containers"
        causes.append(forbidden(f"{base}.mountPropagation", message))
    causes += check_choice(mount, "recursiveReadOnly", base, _RECURSIVE)
    if mount.get("recursiveReadOnly") in ("Enabled", "IfPossible"):
        at = f"{base}.recursiveReadOnly"
        if mount.get("readOnly") is not True:
            causes.append(forbidden(at, "may only be specified when readOnly is true"))
        if propagation not in (None, "None"):
            causes.append(forbidden(at, "may only be specified when mountPropagation is None or not specified"))
    return causes


def _check_devices(container: JsonObject, path: str, volumes: dict[str, str]) -> list[Cause]:
    causes: list[Cause] = []
    mounts = structs(container, "volumeMounts")
    mounted, places = {text(each, "name") for each in mounts}, {text(each, "mountPath") for each in mounts}
    names: set[str] = set()
    paths: set[str] = set()
    for at, device in numbered(container, "volumeDevices", path):
        name, device_path = text(device, "name"), text(device, "devicePath")
        causes += _check_device_name(name, f"{at}.name", volumes)
        if name and name in names:
            causes.append(invalid(f"{at}.name", name, "must be unique"))
        if not device_path:
            causes.append(required(f"{at}.devicePath"))
        if device_path in paths:
            causes.append(invalid(f"{at}.devicePath", device_path, "must be unique"))
        if ".." in device_path.split("/"):
            causes.append(invalid(f"{at}.devicePath", device_path, "can not contain backsteps ('..')"))
        else:
            paths.add(device_path)
        if name in mounted:
            causes.append(invalid(f"{at}.name", name, "must not already exist in volumeMounts"))
        if device_path in places:
            message = "must not already exist as a path in volumeMounts"
            causes.append(invalid(f"{at}.devicePath", device_path, message))
        names.add(name)
    return causes


def _check_device_name(name: str, path: str, volumes: dict[str, str]) -> list[Cause]:
    causes = [] if name else [required(path)]
    if name not in volumes:
        causes.append(not_found(path, name))
    elif volumes[name] not in _CLAIMS:
        message = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        causes.append(invalid(path, name, message))
    return causes
