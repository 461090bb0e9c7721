"""The checks of the level `baseline`, which forbids what is known to give a container power over its Node. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from homeostat.objects.json import Json, JsonObject, encode
from homeostat.server.admission.pod_security.subject import (
    Finding,
    Subject,
    counted,
    listed,
    names_of,
    quoted,
    setters,
)
from homeostat.server.kinds.builtins.members import items, strings, struct, structs, text

_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_OF_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_OF_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_CAPABILITIES: Final = frozenset(
    {"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"}
    | {"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"}
)
PROFILES: Final = frozenset({"RuntimeDefault", "Localhost"})
_TYPES: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
_SYSCTLS: Final = (
    (0, {"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies"}),
    (0, {"net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start"}),
    (27, {"net.ipv4.ip_local_reserved_ports"}),
    (29, {"net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout"}),
    (29, {"net.ipv4.tcp_keepalive_intvl", "net.ipv4.tcp_keepalive_probes"}),
    (32, {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}),
)
"""Since which minor version a container may set a sysctl."""


def app_armor(subject: Subject, _: int) -> Finding | None:
    bad_types: set[str] = set()

    def is_bad(context: JsonObject) -> bool:
        profile = context.get("appArmorProfile")
        if not isinstance(profile, dict) or profile.get("type") in PROFILES:
            return False
        bad_types.add(text(profile, "type"))
        return True

    found = setters(subject, is_bad)
    annotations = sorted(
        _shown(name, value)
        for name, value in subject.annotations.items()
        if name.startswith(_APP_ARMOR) and value not in ("", "runtime/default")
        if not str(value).startswith("localhost/")
    )
    if annotations:
        found = " and ".join(filter(None, (found, counted("annotation", len(annotations)))))
    if not found:
        return None
    values = [*sorted(bad_types), *annotations]
    reason = counted("forbidden AppArmor profile", len(values))
    return Finding(reason, f"{found} must not set AppArmor profile type to {quoted(values)}")


def capabilities(subject: Subject, _: int) -> Finding | None:
    added = {at: _added(each) - _CAPABILITIES for at, each in enumerate(subject.containers)}
    bad = [each for at, each in enumerate(subject.containers) if added[at]]
    if not bad:
        return None
    names = quoted(sorted(set().union(*added.values())))
    detail = f"{listed('container', names_of(bad))} must not include {names} in securityContext.capabilities.add"
    return Finding("non-default capabilities", detail)


def _added(container: JsonObject) -> set[str]:
    return set(strings(struct(container, "securityContext", "capabilities"), "add"))


def host_namespaces(subject: Subject, _: int) -> Finding | None:
    found = [f"{name}=true" for name in ("hostNetwork", "hostPID", "hostIPC") if subject.spec.get(name) is True]
    return Finding("host namespaces", ", ".join(found)) if found else None


def host_paths(subject: Subject, _: int) -> Finding | None:
    names = names_of(each for each in structs(subject.spec, "volumes") if each.get("hostPath") is not None)
    return Finding("hostPath volumes", listed("volume", names)) if names else None


def host_ports(subject: Subject, _: int) -> Finding | None:
    ports: set[str] = set()
    bad = []
    for each in subject.containers:
        found = {str(port["hostPort"]) for port in structs(each, "ports") if port.get("hostPort")}
        ports |= found
        bad += [each] if found else []
    if not bad:
        return None
    use, named = "uses" if len(bad) == 1 else "use", counted("hostPort", len(ports))
    return Finding("hostPort", f"{listed('container', names_of(bad))} {use} {named} {', '.join(sorted(ports))}")


def probe_hosts(subject: Subject, _: int) -> Finding | None:
    hosts: set[str] = set()
    bad: set[str] = set()
    for each in subject.containers:
        found = set(_hosts(each))
        hosts |= found
        bad |= {text(each, "name")} if found else set()
    if not bad:
        return None
    use, what = "uses" if len(bad) == 1 else "use", listed("probe or lifecycle host", sorted(hosts))
    return Finding("probe or lifecycle host", f"{listed('container', sorted(bad))} {use} {what}")


def _hosts(container: JsonObject) -> Iterable[str]:
    probes = [struct(container, name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
    hooks = [struct(container, "lifecycle", name) for name in ("postStart", "preStop")]
    for each in (*probes, *hooks):
        yield from filter(None, (text(struct(each, name), "host") for name in ("httpGet", "tcpSocket")))


def privileged(subject: Subject, _: int) -> Finding | None:
    bad = [each for each in subject.containers if struct(each, "securityContext").get("privileged") is True]
    detail = f"{listed('container', names_of(bad))} must not set securityContext.privileged=true"
    return Finding("privileged", detail) if bad else None


def proc_mount(subject: Subject, _: int) -> Finding | None:
    mounts = [struct(each, "securityContext").get("procMount") for each in subject.containers]
    wrong = {str(each) for each in mounts if each not in (None, "Default")}
    if not wrong:
        return None
    bad = (each for each, mount in zip(subject.containers, mounts, strict=True) if mount not in (None, "Default"))
    detail = f"{listed('container', names_of(bad))} must not set securityContext.procMount to {quoted(sorted(wrong))}"
    return Finding("procMount", detail)


def selinux(subject: Subject, minor: int) -> Finding | None:
    allowed = _TYPES | ({"container_engine_t"} if minor >= 31 else set())
    bad_types: set[str] = set()
    has: set[str] = set()

    def is_bad(context: JsonObject) -> bool:
        options = struct(context, "seLinuxOptions")
        kind = text(options, "type")
        bad_types.update({kind} - allowed)
        has.update(name for name in ("user", "role") if options.get(name))
        return kind not in allowed or any(options.get(name) for name in ("user", "role"))

    found = setters(subject, is_bad)
    if not found:
        return None
    said = [listed("type", sorted(bad_types))] if bad_types else []
    said += [f"{name} may not be set" for name in ("user", "role") if name in has]
    return Finding("seLinuxOptions", f"{found} set forbidden securityContext.seLinuxOptions: {'; '.join(said)}")


def seccomp(subject: Subject, minor: int) -> Finding | None:
    if minor < 19:
        return _seccomp_annotations(subject)
    return seccomp_types(subject)


def seccomp_types(subject: Subject) -> Finding | None:
    """Profiles that are set and must not be."""
    bad_types: set[str] = set()

    def is_bad(context: JsonObject) -> bool:
        profile = context.get("seccompProfile")
        if not isinstance(profile, dict) or profile.get("type") in PROFILES:
            return False
        bad_types.add(text(profile, "type"))
        return True

    found = setters(subject, is_bad)
    said = f"{found} must not set securityContext.seccompProfile.type to {quoted(sorted(bad_types))}"
    return Finding("seccompProfile", said) if found else None


def _seccomp_annotations(subject: Subject) -> Finding | None:
    names = [_SECCOMP_OF_POD, *(_SECCOMP_OF_CONTAINER + each for each in names_of(subject.containers))]
    given = subject.annotations
    bad = {_shown(each, given[each]) for each in names if each in given and not _is_seccomp(given[each])}
    said = f"forbidden {counted('annotation', len(bad))} {', '.join(sorted(bad))}"
    return Finding("seccompProfile", said) if bad else None


def _is_seccomp(value: Json) -> bool:
    return value in ("runtime/default", "docker/default") or str(value).startswith("localhost/")


def _shown(name: str, value: Json) -> str:
    return f"{name}={encode(str(value)).decode()}"


def sysctls(subject: Subject, minor: int) -> Finding | None:
    allowed = {name for since, names in _SYSCTLS if minor >= since for name in names}
    given = [each for each in items(subject.security, "sysctls") if isinstance(each, dict)]
    bad = [name for name in names_of(given) if name not in allowed]
    return Finding("forbidden sysctls", ", ".join(bad)) if bad else None


def host_process(subject: Subject, _: int) -> Finding | None:
    found = setters(subject, lambda context: struct(context, "windowsOptions").get("hostProcess") is True)
    said = f"{found} must not set securityContext.windowsOptions.hostProcess=true"
    return Finding("hostProcess", said) if found else None
