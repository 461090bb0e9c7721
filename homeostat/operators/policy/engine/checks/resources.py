"""Checks of the resources of containers."""

from __future__ import annotations

from homeostat.objects.views.pod import Amounts, Container, Pod, Resources
from homeostat.operators.policy.engine.check import MISSING_RESOURCES
from homeostat.operators.policy.engine.checks.base import Test, each_container
from homeostat.operators.policy.spec import Amount, PolicySpec

_NOTHING = Resources()
_NONE = Amounts()
_WORDS: dict[Amount, str] = {
    "cpuRequest": "CPU request",
    "cpuLimit": "CPU limit",
    "memoryRequest": "memory request",
    "memoryLimit": "memory limit",
}


def missing_resources(spec: PolicySpec) -> Test | None:
    """One finding a container, however many resources it lacks."""
    if not spec.require_resources:
        return None
    wanted = spec.require_resources

    def fault(_: Pod, container: Container) -> str:
        resources = container.resources or _NOTHING
        requests, limits = resources.requests or _NONE, resources.limits or _NONE
        present = {
            # Kubernetes uses the limit as the request if there is no request.
            "cpuRequest": requests.cpu is not None or limits.cpu is not None,
            "memoryRequest": requests.memory is not None or limits.memory is not None,
            "cpuLimit": limits.cpu is not None,
            "memoryLimit": limits.memory is not None,
        }
        return ", ".join(_WORDS[each] for each in wanted if not present[each])

    return each_container(MISSING_RESOURCES.for_policy(spec), fault)
