"""How the init containers of a Pod end, one after the other, by their commands. Pure.

One whose command is unknown succeeds at once. A sidecar (restartPolicy Always) is done when it has started.
"""

from __future__ import annotations

from typing import Final

from homeostat.operators.workloads.api import Container, PodSpec
from homeostat.operators.workloads.pods.commands import Ending, container_ending, has_short_commands

_AT_ONCE: Final = Ending(0, 0.0)


def init_endings(spec: PodSpec) -> tuple[Ending, ...]:
    """Of each init container; none if all of them succeed at once, for then nobody sees them run."""
    containers = spec.init_containers
    if not containers:
        return ()
    is_short = has_short_commands(containers)
    found = tuple(_ending(each, is_short=is_short) for each in containers)
    return () if all(each == _AT_ONCE for each in found) else found


def failing_init(spec: PodSpec, code: int, after_s: float) -> tuple[Ending, ...]:
    """The first init container that could fail does; none if there is none."""
    found: list[Ending] = []
    for each in spec.init_containers:
        if not is_sidecar(each):
            return (*found, Ending(code, after_s))
        found.append(_AT_ONCE)
    return ()


def is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def _ending(container: Container, *, is_short: bool) -> Ending:
    if is_sidecar(container):
        probe = container.startup_probe
        return _AT_ONCE if probe is None else Ending(0, float(probe.initial_delay_seconds))
    return container_ending(container, is_short=is_short) or _AT_ONCE
