"""Annotations that named profiles of AppArmor and seccomp before Pods had fields for them. Pure.

Those of AppArmor are copied to the fields of a new Pod, those of seccomp have no effect. Neither may contradict the
fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from homeostat.objects.errors import Cause, forbidden, invalid, quoted
from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.members import ensure_struct, numbered, struct, structs, text

_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
_LOCAL = "localhost/"
_PREFIXES = (_APP_ARMOR, _SECCOMP, _SECCOMP_OF_POD)
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_MEANING = {"unconfined": "Unconfined", "runtime/default": "RuntimeDefault", "docker/default": "RuntimeDefault"}


def _given(metadata: JsonObject) -> dict[str, str]:
    """The annotations of profiles; most Pods have none."""
    annotations = struct(metadata, "annotations")
    if not annotations:
        return {}
    return {name: str(value) for name, value in annotations.items() if name.startswith(_PREFIXES)}


def check_profiles(pod: JsonObject, annotations: str, spec: str) -> list[Cause]:
    """`annotations` and `spec` are the paths of both."""
    given = _given(struct(pod, "metadata"))
    if not given:
        return []
    body, causes = struct(pod, "spec"), list[Cause]()
    names = {text(each, "name") for kind in _CONTAINERS for each in structs(body, kind)}
    for key, value in given.items():
        if key.startswith(_APP_ARMOR):
            if (name := key.removeprefix(_APP_ARMOR)) not in names:
                causes.append(invalid(f"{annotations}[{key}]", name, "container not found"))
            if value not in ("", "runtime/default", "unconfined") and not value.startswith(_LOCAL):
                message = f"invalid AppArmor profile name: {quoted(value)}"
                causes.append(invalid(f"{annotations}[{key}]", value, message))
        elif value not in _MEANING and not value.startswith(_LOCAL):
            causes.append(invalid(f"{annotations}.{key}", value, "must be a valid seccomp profile"))
    return causes + _check_match(body, given, spec)


def _check_match(body: JsonObject, given: dict[str, str], path: str) -> list[Cause]:
    pod, causes = struct(body, "securityContext"), list[Cause]()
    if _SECCOMP_OF_POD in given:
        at = f"{path}.securityContext.seccompProfile"
        causes += _mismatch("seccomp", pod.get("seccompProfile"), given[_SECCOMP_OF_POD], at)
    is_windows = text(struct(body, "os"), "name") == "windows"
    for kind in _CONTAINERS:
        for place, container in numbered(body, kind, path):
            context, name = struct(container, "securityContext"), text(container, "name")
            at = f"{place}.securityContext"
            if (said := given.get(_SECCOMP + name)) is not None:
                causes += _mismatch("seccomp", context.get("seccompProfile"), said, f"{at}.seccompProfile")
            if (said := given.get(_APP_ARMOR + name)) is not None and not is_windows:
                profile = context.get("appArmorProfile") or pod.get("appArmorProfile")
                causes += _mismatch("apparmor", profile, said, f"{at}.appArmorProfile")
    return causes


def _mismatch(what: str, profile: Json, annotation: str, path: str) -> list[Cause]:
    if not isinstance(profile, dict):
        return []
    if text(profile, "type") == "Localhost" and annotation.startswith(_LOCAL):
        if annotation.removeprefix(_LOCAL) == profile.get("localhostProfile"):
            return []
        return [forbidden(f"{path}.localhostProfile", f"{what} profile in annotation and field must match")]
    is_old_name = what == "apparmor" and annotation == "docker/default"
    if text(profile, "type") == _MEANING.get(annotation) and not is_old_name:
        return []
    return [forbidden(f"{path}.type", f"{what} type in annotation and field must match")]


def copy_app_armor(pod: JsonObject) -> list[str]:
    """Set the fields that the annotations of a new Pod name, in place; returns the warnings."""
    given = _given(struct(pod, "metadata"))
    spec = struct(pod, "spec")
    if not given or text(struct(spec, "os"), "name") == "windows":
        return []
    found, warnings = struct(spec, "securityContext").get("appArmorProfile"), []
    for container in (each for kind in _CONTAINERS for each in structs(spec, kind)):
        key = _APP_ARMOR + text(container, "name")
        if key not in given or struct(container, "securityContext").get("appArmorProfile") is not None:
            continue
        profile = _app_armor_of(given[key])
        if profile is not None and profile == found:
            continue
        if profile is not None and (context := ensure_struct(container, "securityContext")) is not None:
            context["appArmorProfile"] = profile
        warnings.append(_deprecated("metadata", key))
    return warnings


def _app_armor_of(annotation: str) -> JsonObject | None:
    if annotation in ("unconfined", "runtime/default"):
        return {"type": _MEANING[annotation]}
    file = annotation.removeprefix(_LOCAL)
    is_valid = annotation.startswith(_LOCAL) and file.strip() == file != "" and len(file) < 4096
    return {"type": "Localhost", "localhostProfile": file} if is_valid else None


def _deprecated(metadata: str, key: str) -> str:
    return f'{metadata}.annotations[{key}]: deprecated since v1.30; use the "appArmorProfile" field instead'


def profile_warnings(pod: JsonObject, path: str = "") -> Iterator[str]:
    """Of a Pod, or of a template at a path."""
    given, spec = _given(struct(pod, "metadata")), struct(pod, "spec")
    if not given:
        return
    metadata, context = f"{path}.metadata" if path else "metadata", struct(spec, "securityContext")
    unused = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    if _SECCOMP_OF_POD in given and context.get("seccompProfile") is None:
        yield f"{metadata}.annotations[{_SECCOMP_OF_POD}]: {unused}"
    for container in (each for kind in _CONTAINERS for each in structs(spec, kind)):
        own, name = struct(container, "securityContext"), text(container, "name")
        if (key := _SECCOMP + name) in given and own.get("seccompProfile") is None:
            yield f"{metadata}.annotations[{key}]: {unused}"
        # Those of Pods are warned of where they are copied.
        if path and (key := _APP_ARMOR + name) in given and own.get("appArmorProfile") is None:
            profile = context.get("appArmorProfile")
            if profile is None or profile != _app_armor_of(given[key]):
                yield _deprecated(metadata, key)


def check_app_armor_update(new: JsonObject, old: JsonObject) -> list[Cause]:
    metadata, former = struct(new, "metadata"), struct(old, "metadata")
    if metadata.get("annotations") == former.get("annotations"):
        return []
    after, before = _given(metadata), _given(former)
    changed = {
        name for name in {*after, *before} if name.startswith(_APP_ARMOR) and after.get(name) != before.get(name)
    }
    return [
        forbidden(
            f"metadata.annotations[{name}]",
            "may not remove or update AppArmor annotations" if name in before else "may not add AppArmor annotations",
        )
        for name in sorted(changed)
    ]
