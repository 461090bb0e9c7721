"""Which ended Pods are deleted when there are too many. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from homeostat.operators.workloads.api import Pod


def surplus(pods: Iterable[Pod], most: int) -> list[Pod]:
    """The ended Pods beyond `most`: evicted ones first, then the oldest."""
    ended = [each for each in pods if each.is_finished]
    if len(ended) <= most:
        return []
    ended.sort(key=lambda each: (not _is_evicted(each), each.metadata.creation_timestamp, each.key))
    return [each for each in ended[: len(ended) - most] if not each.metadata.is_terminating]


def _is_evicted(pod: Pod) -> bool:
    return pod.status.phase == "Failed" and pod.status.reason == "Evicted"
