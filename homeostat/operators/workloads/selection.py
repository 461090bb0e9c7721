"""Which workloads may select a Pod, and which Pods a workload may select, by indexes.

Without them each change of a Pod is compared with every workload of its namespace, and each workload with every Pod:
thousands of both keep a core busy for minutes. The indexes only narrow the choice: whoever uses them still compares.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Final

from homeostat.operators.workloads.api import Pod, Workload
from homeostat.runtime.cache.cache import Cache
from homeostat.runtime.cache.index import KeysOf

BY_LABEL: Final = "label"
ORPHANS_BY_LABEL: Final = "orphans by label"
_BY_SELECTED: Final = "selected"


def label_keys(pod: Pod) -> tuple[Hashable, ...]:
    namespace = pod.metadata.namespace
    return tuple((namespace, *pair) for pair in pod.metadata.labels.items())


def labelled_orphan_keys(pod: Pod) -> tuple[Hashable, ...]:
    """Most Pods have a controller, and those of a workload are not compared with it again for each change."""
    return () if pod.metadata.controller is not None else ((pod.metadata.namespace,), *label_keys(pod))


def _selected_keys(workload: Workload) -> tuple[Hashable, ...]:
    return (_required_key(workload),)


SELECTED: Final[Mapping[str, KeysOf[Workload]]] = {_BY_SELECTED: _selected_keys}
"""The index that the workloads need."""


def _required_pair(workload: Workload) -> tuple[str, str] | None:
    """A label and its value that everything has which the workload selects; None if its selector names none."""
    selector = workload.spec.get("selector") or {}
    labels = selector.get("matchLabels")
    # A Service and a ReplicationController have a map of labels in place of a selector.
    pairs = labels if isinstance(labels, dict) else selector
    return next(((name, value) for name, value in pairs.items() if isinstance(value, str)), None)


def _required_key(workload: Workload) -> tuple[str, ...]:
    return (workload.metadata.namespace, *(_required_pair(workload) or ()))


def possible_selectors(workloads: Cache[Workload], namespace: str, *several: Mapping[str, str]) -> Iterator[Workload]:
    """The workloads that may select an object with one of these sets of labels, each once."""
    yield from workloads.indexed(_BY_SELECTED, (namespace,))
    for pair in dict.fromkeys(pair for labels in several for pair in labels.items()):
        yield from workloads.indexed(_BY_SELECTED, (namespace, *pair))


def possible_pods(workload: Workload, pods: Cache[Pod]) -> list[Pod]:
    """The Pods that the workload may select."""
    namespace, pair = workload.metadata.namespace, _required_pair(workload)
    return pods.in_namespace(namespace) if pair is None else pods.indexed(BY_LABEL, (namespace, *pair))


def possible_orphans(workload: Workload, pods: Cache[Pod]) -> list[Pod]:
    """The Pods without a controller that the workload may select."""
    return pods.indexed(ORPHANS_BY_LABEL, _required_key(workload))
