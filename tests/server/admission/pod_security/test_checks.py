"""What the Pod Security Standards forbid, beyond what the comparison with a real server covers."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.server.admission.pod_security.checks import find_violations
from homeostat.server.admission.pod_security.standard import Level, Standard, read_policy
from homeostat.server.admission.pod_security.subject import subject_of

_HARDENED: dict[str, Any] = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_CALM: dict[str, Any] = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def violations(level: Level, spec: dict[str, Any], minor: int | None = None, **metadata: Any) -> list[str]:
    found = find_violations(subject_of({"metadata": metadata, "spec": spec}), Standard(level, minor))
    return [str(each) for each in found]


def of_container(**context: Any) -> dict[str, Any]:
    return {"containers": [{"name": "a", "securityContext": context}]}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (of_container(privileged=True), 'privileged (container "a" must not set securityContext.privileged=true)'),
        (
            of_container(procMount="Unmasked"),
            'procMount (container "a" must not set securityContext.procMount to "Unmasked")',
        ),
        (
            {"securityContext": {"windowsOptions": {"hostProcess": True}}},
            "hostProcess (pod must not set securityContext.windowsOptions.hostProcess=true)",
        ),
        ({"securityContext": {"seLinuxOptions": {"type": "container_engine_t"}}}, None),
        ({"containers": "none", "volumes": [1], "securityContext": []}, None),
    ],
)
def test_what_baseline_forbids(spec: dict[str, Any], expected: str | None) -> None:
    assert violations("baseline", spec) == ([] if expected is None else [expected])
    assert violations("privileged", spec) == []


def test_a_hardened_pod_is_restricted() -> None:
    assert violations("restricted", {**of_container(**_HARDENED), "securityContext": _CALM}) == []


def test_a_pod_of_windows_needs_no_settings_of_linux() -> None:
    spec = {**of_container(), "os": {"name": "windows"}, "securityContext": {"runAsNonRoot": True}}
    assert violations("restricted", spec) == []
    assert len(violations("restricted", spec, 24)) == 3


def test_annotations_of_profiles_count() -> None:
    app_armor = {"container.apparmor.security.beta.kubernetes.io/a": "unconfined"}
    (found,) = violations("baseline", of_container(), annotations=app_armor)
    assert found.startswith("forbidden AppArmor profile (annotation must not set AppArmor profile type to")
    seccomp = {"seccomp.security.alpha.kubernetes.io/pod": "unconfined"}
    assert violations("baseline", of_container(), annotations=seccomp) == []
    assert len(violations("baseline", of_container(), 18, annotations=seccomp)) == 1


def test_an_invalid_label_is_strict_to_enforce_and_free_to_warn_of() -> None:
    labels = {f"pod-security.kubernetes.io/{mode}": "odd" for mode in ("enforce", "audit", "warn")}
    policy, causes = read_policy(labels)
    assert [each.level for each in policy] == ["restricted", "privileged", "privileged"]
    assert [each.field for each in causes] == [f"metadata.labels[{name}]" for name in labels]


def test_what_is_enforced_is_warned_of_too() -> None:
    labels = {"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.9"}
    assert str(read_policy(labels)[0].warn) == "baseline:v1.9"
