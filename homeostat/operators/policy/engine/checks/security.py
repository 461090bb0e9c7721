"""Checks of the privileges that containers have on their node."""

from __future__ import annotations

from homeostat.objects.views.pod import Container, Pod, SecurityContext
from homeostat.operators.policy.engine.check import HOST_PATH, PRIVILEGED, RUN_AS_ROOT, Finding
from homeostat.operators.policy.engine.checks.base import Test, each_container
from homeostat.operators.policy.spec import PolicySpec

_NOTHING = SecurityContext()


def run_as_root(spec: PolicySpec) -> Test | None:
    """The container's security context comes before the Pod's. A `runAsUser` other than 0 is enough."""
    if not spec.require_run_as_non_root:
        return None
    return each_container(RUN_AS_ROOT.for_policy(spec), _root_fault)


def _root_fault(pod: Pod, container: Container) -> str:
    own = container.security_context or _NOTHING
    shared = (pod.spec and pod.spec.security_context) or _NOTHING
    user = shared.run_as_user if own.run_as_user is None else own.run_as_user
    if user is not None:
        return "" if user else "runs as user 0"
    promised = shared.run_as_non_root if own.run_as_non_root is None else own.run_as_non_root
    return "" if promised else "may run as root"


def privileged(spec: PolicySpec) -> Test | None:
    if not spec.forbid_privileged:
        return None
    check = PRIVILEGED.for_policy(spec)

    def test(pod: Pod, now: float) -> list[Finding]:  # noqa: ARG001
        return [
            Finding(check, each.name)
            for each in pod.containers
            if each.security_context is not None and each.security_context.privileged
        ]

    return test


def host_path(spec: PolicySpec) -> Test | None:
    if not spec.forbid_host_path:
        return None
    check = HOST_PATH.for_policy(spec)

    def test(pod: Pod, now: float) -> list[Finding]:  # noqa: ARG001
        volumes = () if pod.spec is None else pod.spec.volumes or ()
        return [Finding(check, "", each.host_path.path) for each in volumes if each.host_path is not None]

    return test
