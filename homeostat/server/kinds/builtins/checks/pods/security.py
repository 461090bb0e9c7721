"""Security contexts of pods and of containers."""

from __future__ import annotations

import re

from homeostat.objects.errors import Cause, duplicate, invalid, required, too_long, unsupported
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.checks.pods.source import check_descending
from homeostat.server.kinds.builtins.members import items, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import check_choice, is_integer

_MAX_ID = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_sysctl = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?").fullmatch
_MAX_SYSCTL = 253
_LONGEST_PATH = 4095
_NAMESPACED = {"hostNetwork": ("net.",), "hostIPC": ("kernel.sem", "kernel.shm", "kernel.msg", "fs.mqueue.")}
"""Settings that belong to the host where its namespace is used."""


def check_pod_security(spec: JsonObject, path: str) -> list[Cause]:
    context, at = struct(spec, "securityContext"), f"{path}.securityContext"
    causes: list[Cause] = []
    if spec.get("shareProcessNamespace") is True and spec.get("hostPID") is True:
        message = "ShareProcessNamespace and HostPID cannot both be enabled"
        causes.append(invalid(f"{at}.shareProcessNamespace", True, message))
    if not context:
        return causes
    causes += _check_ids(context, at, "fsGroup", "runAsUser", "runAsGroup")
    for index, group in enumerate(items(context, "supplementalGroups")):
        causes += _check_id(group, f"{at}.supplementalGroups[{index}]")
    causes += _check_sysctls(context, at, spec)
    causes += check_choice(context, "fsGroupChangePolicy", at, ("OnRootMismatch", "Always"))
    causes += check_choice(context, "supplementalGroupsPolicy", at, ("Merge", "Strict"))
    causes += check_choice(context, "seLinuxChangePolicy", at, ("Recursive",))
    return causes + check_seccomp(context, at) + check_app_armor(context, at)


def check_container_security(container: JsonObject, path: str, *, has_host_users: bool) -> list[Cause]:
    context, at = struct(container, "securityContext"), f"{path}.securityContext"
    causes = _check_ids(context, at, "runAsUser", "runAsGroup")
    causes += check_choice(context, "procMount", at, ("Default", "Unmasked"))
    if has_host_users and context.get("procMount") == "Unmasked":
        causes.append(invalid(f"{at}.procMount", "Unmasked", "`hostUsers` must be false to use `Unmasked`"))
    causes += check_seccomp(context, at) + check_app_armor(context, at)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged") is True:
            message = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            causes.append(invalid(at, context, message))
        if "CAP_SYS_ADMIN" in strings(struct(context, "capabilities"), "add"):
            message = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            causes.append(invalid(at, context, message))
    return causes


def _check_ids(context: JsonObject, path: str, *names: str) -> list[Cause]:
    return [cause for name in names for cause in _check_id(context.get(name), f"{path}.{name}")]


def _check_id(value: object, path: str) -> list[Cause]:
    if isinstance(value, int) and is_integer(value) and not 0 <= value <= _MAX_ID:
        return [invalid(path, value, f"must be between 0 and {_MAX_ID}, inclusive")]
    return []


def _check_sysctls(context: JsonObject, path: str, spec: JsonObject) -> list[Cause]:
    causes: list[Cause] = []
    names: set[str] = set()
    for at, sysctl in numbered(context, "sysctls", path):
        name = text(sysctl, "name")
        if not name:
            causes.append(required(f"{at}.name"))
        elif len(name) > _MAX_SYSCTL or not _sysctl(name):
            message = f"must have at most {_MAX_SYSCTL} characters and consist of names joined by '.' or '/'"
            causes.append(invalid(f"{at}.name", name, message))
        elif name in names:
            causes.append(duplicate(f"{at}.name", name))
        names.add(name)
        for flag, starts in _NAMESPACED.items():
            if spec.get(flag) is True and name.replace("/", ".").startswith(starts):
                causes.append(invalid(f"{at}.name", name, f"may not be specified when '{flag}' is true"))
    return causes


def check_seccomp(context: JsonObject, path: str) -> list[Cause]:
    profile, at = context.get("seccompProfile"), f"{path}.seccompProfile"
    if not isinstance(profile, dict):
        return []
    causes = _check_type(profile, at, "seccompProfile")
    file = profile.get("localhostProfile")
    if text(profile, "type") != "Localhost":
        if file is not None:
            causes.append(invalid(f"{at}.localhostProfile", profile, "can only be set when seccomp type is Localhost"))
    elif not isinstance(file, str):
        causes.append(required(f"{at}.localhostProfile", "must be set when seccomp type is Localhost"))
    else:
        causes += check_descending(file, f"{at}.localhostProfile")
    return causes


def check_app_armor(context: JsonObject, path: str) -> list[Cause]:
    profile, at = context.get("appArmorProfile"), f"{path}.appArmorProfile"
    if not isinstance(profile, dict):
        return []
    if causes := _check_type(profile, at, "appArmorProfile"):
        return causes
    file, place = profile.get("localhostProfile"), f"{at}.localhostProfile"
    if text(profile, "type") != "Localhost":
        told = "can only be set when AppArmor type is Localhost"
        return [] if file is None else [invalid(place, file, told)]
    if not isinstance(file, str) or not file:
        return [required(place, "must be set when AppArmor type is Localhost")]
    if len(file) > _LONGEST_PATH:
        causes.append(too_long(place, _LONGEST_PATH))
    if file != file.strip():
        causes.append(invalid(place, file, "must not be padded with whitespace"))
    return causes


def _check_type(profile: JsonObject, path: str, member: str) -> list[Cause]:
    kind = text(profile, "type")
    if not kind:
        return [required(f"{path}.type", f"type is required when {member} is set")]
    return [] if kind in _PROFILES else [unsupported(f"{path}.type", kind, _PROFILES)]
