"""When the containers of a Pod are ready, or killed, by their probes. Pure.

Nothing is asked: the delays and thresholds of a probe say when it would have succeeded first, or failed too often. A
probe with a command ends as the command would; all others succeed.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from homeostat.operators.workloads.api import Container, PodSpec, Probe
from homeostat.operators.workloads.pods.commands import MOST_SCRIPT, command_ending


class Probed(NamedTuple):
    """Seconds after the start of the containers; infinite for what never happens."""

    ready_s: float = 0.0
    killed_s: float = math.inf


UNPROBED: Final = Probed()


def probed(spec: PodSpec) -> Probed:
    """The Pod is ready with its last container, and killed with its first one."""
    found = [_container(each) for each in spec.containers if _has_probes(each)]
    if not found:
        return UNPROBED
    return Probed(max(each.ready_s for each in found), min(each.killed_s for each in found))


def _has_probes(container: Container) -> bool:
    return not (container.readiness_probe is container.startup_probe is container.liveness_probe is None)


def _container(container: Container) -> Probed:
    """Readiness and liveness are asked from their own delay on, but not before the startup probe has succeeded."""
    startup, readiness, liveness = container.startup_probe, container.readiness_probe, container.liveness_probe
    started_s = 0.0
    if startup is not None:
        if not _succeeds(startup):
            return Probed(math.inf, _failed_s(startup, 0.0))
        started_s = float(startup.initial_delay_seconds)
    ready_s = started_s if readiness is None else _ready_s(readiness, started_s)
    is_alive = liveness is None or _succeeds(liveness)
    return Probed(ready_s, math.inf if is_alive or liveness is None else _failed_s(liveness, started_s))


def _ready_s(probe: Probe, started_s: float) -> float:
    if not _succeeds(probe):
        return math.inf
    return max(started_s, probe.initial_delay_seconds) + (probe.success_threshold - 1) * probe.period_seconds


def _failed_s(probe: Probe, started_s: float) -> float:
    return max(started_s, probe.initial_delay_seconds) + (probe.failure_threshold - 1) * probe.period_seconds


def _succeeds(probe: Probe) -> bool:
    words = probe.exec.command if probe.exec is not None else ()
    if not words or sum(map(len, words)) > MOST_SCRIPT:
        return True
    ending = command_ending(words)
    return ending is None or (not ending.code and ending.after_s <= probe.timeout_seconds)
