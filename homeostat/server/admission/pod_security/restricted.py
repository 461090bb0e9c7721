"""The checks that the level `restricted` adds to those of `baseline`: what a hardened Pod has to say. Pure."""

from __future__ import annotations

from typing import Final

from homeostat.objects.json import JsonObject
from homeostat.server.admission.pod_security.baseline import PROFILES, seccomp_types
from homeostat.server.admission.pod_security.subject import (
    Finding,
    Subject,
    counted,
    listed,
    names_of,
    quoted,
    setters,
)
from homeostat.server.kinds.builtins.members import strings, struct, structs

_ALLOWED_VOLUMES: Final = frozenset(
    {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected"}
    | {"secret"}
)
_OTHER_VOLUMES: Final = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
)
_WITHOUT_WINDOWS: Final = 25
"""Since when checks skip Pods of Windows, which cannot have these fields."""


def escalation(subject: Subject, minor: int) -> Finding | None:
    bad = [
        each
        for each in subject.containers
        if struct(each, "securityContext").get("allowPrivilegeEscalation") is not False
    ]
    if not bad or (subject.is_windows and minor >= _WITHOUT_WINDOWS):
        return None
    said = f"{listed('container', names_of(bad))} must set securityContext.allowPrivilegeEscalation=false"
    return Finding("allowPrivilegeEscalation != false", said)


def capabilities(subject: Subject, minor: int) -> Finding | None:
    if subject.is_windows and minor >= _WITHOUT_WINDOWS:
        return None
    keeping, adding, added = list[JsonObject](), list[JsonObject](), set[str]()
    for each in subject.containers:
        given = struct(each, "securityContext", "capabilities")
        if "ALL" not in strings(given, "drop"):
            keeping.append(each)
        if more := {*strings(given, "add")} - {"NET_BIND_SERVICE"}:
            adding.append(each)
            added |= more
    said = []
    if keeping:
        said.append(f'{listed("container", names_of(keeping))} must set securityContext.capabilities.drop=["ALL"]')
    if adding:
        names = quoted(sorted(added))
        said.append(
            f"{listed('container', names_of(adding))} must not include {names} in securityContext.capabilities.add"
        )
    return Finding("unrestricted capabilities", "; ".join(said)) if said else None


def volumes(subject: Subject, _: int) -> Finding | None:
    bad = [each for each in structs(subject.spec, "volumes") if not _sources(each) & _ALLOWED_VOLUMES]
    if not bad:
        return None
    types = {next((name for name in _OTHER_VOLUMES if name in _sources(each)), "unknown") for each in bad}
    use, what = "uses" if len(bad) == 1 else "use", listed("restricted volume type", sorted(types))
    return Finding("restricted volume types", f"{listed('volume', names_of(bad))} {use} {what}")


def _sources(volume: JsonObject) -> set[str]:
    return {name for name, value in volume.items() if value is not None}


def non_root(subject: Subject, _: int) -> Finding | None:
    reason = "runAsNonRoot != true"
    if found := setters(subject, lambda context: context.get("runAsNonRoot") is False):
        return Finding(reason, f"{found} must not set securityContext.runAsNonRoot=false")
    if subject.security.get("runAsNonRoot") is True:
        return None
    silent = [each for each in subject.containers if struct(each, "securityContext").get("runAsNonRoot") is None]
    said = f"pod or {listed('container', names_of(silent))} must set securityContext.runAsNonRoot=true"
    return Finding(reason, said) if silent else None


def user(subject: Subject, _: int) -> Finding | None:
    found = setters(subject, lambda context: context.get("runAsUser") == 0)
    return Finding("runAsUser=0", f"{found} must not set runAsUser=0") if found else None


def seccomp(subject: Subject, minor: int) -> Finding | None:
    if subject.is_windows and minor >= _WITHOUT_WINDOWS:
        return None
    if bad := seccomp_types(subject):
        return bad
    if struct(subject.security, "seccompProfile").get("type") in PROFILES:
        return None
    silent = [
        each
        for each in subject.containers
        if not isinstance(struct(each, "securityContext").get("seccompProfile"), dict)
    ]
    what = f"pod or {counted('container', len(silent))} {quoted(names_of(silent))}"
    said = f'{what} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Finding("seccompProfile", said) if silent else None
