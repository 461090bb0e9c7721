"""Security contexts of pods and of containers."""

from __future__ import annotations

import re

from homeostat.objects.errors import Cause, duplicate, invalid, required, unsupported
from homeostat.objects.json import JsonObject
from homeostat.server.kinds.builtins.members import items, numbered, strings, struct, text
from homeostat.server.kinds.builtins.value import check_choice, is_integer

_MAX_ID = 2**31 - 1
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_sysctl = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?").fullmatch
_MAX_SYSCTL = 253


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
    causes += _check_sysctls(context, at)
    causes += check_choice(context, "fsGroupChangePolicy", at, ("OnRootMismatch", "Always"))
    causes += check_choice(context, "supplementalGroupsPolicy", at, ("Merge", "Strict"))
    return (
        causes
        + _check_profile(context, "seccompProfile", "seccomp", at)
        + _check_profile(context, "appArmorProfile", "AppArmor", at)
    )


def check_container_security(container: JsonObject, path: str) -> list[Cause]:
    context, at = struct(container, "securityContext"), f"{path}.securityContext"
    if not context:
        return []
    causes = _check_ids(context, at, "runAsUser", "runAsGroup")
    causes += check_choice(context, "procMount", at, ("Default", "Unmasked"))
    causes += _check_profile(context, "seccompProfile", "seccomp", at)
    causes += _check_profile(context, "appArmorProfile", "AppArmor", at)
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


def _check_sysctls(context: JsonObject, path: str) -> list[Cause]:
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
    return causes


def _check_profile(context: JsonObject, member: str, word: str, path: str) -> list[Cause]:
    profile, at = context.get(member), f"{path}.{member}"
    if not isinstance(profile, dict):
        return []
    kind, file = text(profile, "type"), text(profile, "localhostProfile")
    if not kind:
        return [required(f"{at}.type", f"type is required when {member} is set")]
    if kind not in _PROFILES:
        return [unsupported(f"{at}.type", kind, _PROFILES)]
    if kind == "Localhost" and not file:
        return [required(f"{at}.localhostProfile", f"must be set when {word} type is Localhost")]
    if kind != "Localhost" and file:
        return [invalid(f"{at}.localhostProfile", file, f"can only be set when {word} type is Localhost")]
    return []
