"""Which checks a Pod Security Standard has, by level and version. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from homeostat.server.admission.pod_security import baseline, restricted
from homeostat.server.admission.pod_security.standard import NEWEST, Standard
from homeostat.server.admission.pod_security.subject import Finding, Subject

Check = Callable[[Subject, int], Finding | None]
"""Of a Pod, by the rules of a minor version."""


class _Versioned(NamedTuple):
    check: Check
    since: int = 0
    replaces: Check | None = None
    """The check of the level `baseline` that the stricter one makes superfluous."""


_BASELINE: Final = (
    _Versioned(baseline.app_armor),
    _Versioned(baseline.capabilities),
    _Versioned(baseline.host_namespaces),
    _Versioned(baseline.host_paths),
    _Versioned(baseline.host_ports),
    _Versioned(baseline.probe_hosts, 34),
    _Versioned(baseline.privileged),
    _Versioned(baseline.proc_mount),
    _Versioned(baseline.selinux),
    _Versioned(baseline.seccomp),
    _Versioned(baseline.sysctls),
    _Versioned(baseline.host_process),
)
_RESTRICTED: Final = (
    _Versioned(restricted.escalation, 8),
    _Versioned(restricted.capabilities, 22, baseline.capabilities),
    _Versioned(restricted.volumes, 0, baseline.host_paths),
    _Versioned(restricted.non_root),
    _Versioned(restricted.user, 23),
    _Versioned(restricted.seccomp, 19, baseline.seccomp),
)


def find_violations(subject: Subject, standard: Standard) -> list[Finding]:
    if standard.is_privileged:
        return []
    minor = NEWEST if standard.minor is None else min(standard.minor, NEWEST)
    stricter = [each for each in _RESTRICTED if standard.level == "restricted" and each.since <= minor]
    replaced = {each.replaces for each in stricter}
    usual = [each for each in _BASELINE if each.since <= minor and each.check not in replaced]
    found = (each.check(subject, minor) for each in (*usual, *stricter))
    return [each for each in found if each is not None]
