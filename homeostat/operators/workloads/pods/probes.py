"""When the containers of a Pod are ready, or killed, by their probes. Pure.

Nothing is asked: the delays and thresholds of a probe say when it would have succeeded first, or failed too often. A
probe with a command ends as the command would, one that reads a file fails while the script of the container has none,
and one by HTTP, TCP or gRPC fails where no more than `sleep` and the like runs. All others succeed.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from homeostat.operators.workloads.api import Container, PodSpec, Probe
from homeostat.operators.workloads.pods.commands import (
    ALWAYS,
    MOST_SCRIPT,
    Span,
    command_ending,
    container_ending,
    file_span,
    has_short_commands,
    is_below,
)

_NEVER: Final = Span(math.inf)
_READERS: Final = frozenset({"cat", "ls", "stat"})
_CHECKS: Final = frozenset({"-e", "-f", "-r", "-s"})


class Probed(NamedTuple):
    """Seconds after the start of the containers; infinite for what never happens."""

    ready_s: float = 0.0
    killed_s: float = math.inf


UNPROBED: Final = Probed()


def probed(spec: PodSpec) -> Probed:
    """The Pod is ready with its last container, and killed with its first one."""
    # Containers share the network and may share files.
    is_alone = len(spec.containers) == 1 and not spec.init_containers
    found = [_container(each, is_alone=is_alone) for each in spec.containers if _has_probes(each)]
    if not found:
        return UNPROBED
    return Probed(max(each.ready_s for each in found), min(each.killed_s for each in found))


def _has_probes(container: Container) -> bool:
    return not (container.readiness_probe is container.startup_probe is container.liveness_probe is None)


def _container(container: Container, *, is_alone: bool) -> Probed:
    """Readiness and liveness are asked from their own delay on, but not before the startup probe has succeeded."""
    startup, readiness, liveness = container.startup_probe, container.readiness_probe, container.liveness_probe
    known = container if is_alone and has_short_commands([container]) else None
    started_s = 0.0
    if startup is not None:
        span = _span(startup, known)
        started_s, killed_s = _passed_s(startup, span, 0.0), _killed_s(startup, span, 0.0)
        if killed_s <= started_s:
            return Probed(math.inf, killed_s)
    ready_s = started_s if readiness is None else _passed_s(readiness, _span(readiness, known), started_s)
    return Probed(ready_s, math.inf if liveness is None else _killed_s(liveness, _span(liveness, known), started_s))


def _passed_s(probe: Probe, span: Span, started_s: float) -> float:
    at_s = _check_s(probe, started_s, span.from_s)
    return at_s + (probe.success_threshold - 1) * probe.period_seconds if at_s < span.until_s else math.inf


def _killed_s(probe: Probe, span: Span, started_s: float) -> float:
    """At the last of as many failures as the threshold says."""
    most_s = (probe.failure_threshold - 1) * probe.period_seconds
    first_s, passed_s = _check_s(probe, started_s, 0.0), _check_s(probe, started_s, span.from_s)
    if first_s + most_s < passed_s or passed_s >= span.until_s:
        return first_s + most_s
    return _check_s(probe, started_s, span.until_s) + most_s


def _check_s(probe: Probe, started_s: float, at_s: float) -> float:
    """The first check at that moment or later."""
    first_s, period_s = max(started_s, float(probe.initial_delay_seconds)), max(probe.period_seconds, 1)
    return at_s if math.isinf(at_s) else first_s + max(math.ceil((at_s - first_s) / period_s), 0) * period_s


def _span(probe: Probe, container: Container | None) -> Span:
    """When the probe succeeds. `container` is the one that it asks, where nothing else has a part in that."""
    words = probe.exec.command if probe.exec is not None else ()
    if any(each is not None and each.host for each in (probe.http_get, probe.tcp_socket)):
        return ALWAYS
    if not words:
        ending = container_ending(container, is_short=True) if container is not None else None
        return ALWAYS if ending is None or ending.is_never else _NEVER
    if sum(map(len, words)) > MOST_SCRIPT:
        return ALWAYS
    ending = command_ending(words)
    if ending is not None:
        return _NEVER if ending.code or ending.after_s > probe.timeout_seconds else ALWAYS
    path = _file_read(words)
    if not path or container is None or _may_be_given(container, path):
        return ALWAYS
    return file_span((*container.command, *container.args), path)


def _may_be_given(container: Container, path: str) -> bool:
    """Whether a volume or a hook may put the file there, and not the script."""
    return container.has_post_start or any(is_below(path, each.mount_path) for each in container.volume_mounts)


def _file_read(words: tuple[str, ...]) -> str:
    """The path of `cat PATH`, `test -f PATH` and the like, which fail without the file; empty for other commands."""
    match words:
        case (name, path) if name.rpartition("/")[2] in _READERS:
            return path
        case ("test", check, path) | ("[", check, path, "]") if check in _CHECKS:
            return path
    return ""
