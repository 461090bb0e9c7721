"""Indexes of selectors find the same as a comparison of everything with everything, and compare little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.selectors import selects
from homeostat.operators.workloads.api import Pod, Workload
from homeostat.operators.workloads.family import POD_INDEXES
from homeostat.operators.workloads.selection import SELECTED, possible_orphans, possible_pods, possible_selectors
from homeostat.runtime.cache.cache import Cache, CacheWriter
from homeostat.runtime.cache.index import KeysOf
from tests.operators.workloads.objects import pod, workload

_labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=3)
_expressions = st.lists(
    st.fixed_dictionaries({"key": st.sampled_from("abc"), "operator": st.sampled_from(["Exists", "DoesNotExist"])}),
    max_size=2,
)
_selectors = st.fixed_dictionaries({}, optional={"matchLabels": _labels, "matchExpressions": _expressions})


def cached(objects: list[Any], indexes: Mapping[str, KeysOf[Any]]) -> Cache[Any]:
    writer = CacheWriter[Any](
        name_of=lambda each: each.key,
        version_of=lambda each: int(each.metadata.resource_version),
        is_unseen=lambda *_: False,
        indexes=indexes,
    )
    for each in objects:
        assert writer.put(each) is not None
    return writer.cache


def selecting(selectors: list[Any]) -> list[Workload]:
    return [
        workload(f"w{at}", selector=each, metadata={"resourceVersion": str(at)}) for at, each in enumerate(selectors, 1)
    ]


def labelled(labels: list[dict[str, str]]) -> list[Pod]:
    return [pod(f"p{at}", metadata={"resourceVersion": str(at), "labels": each}) for at, each in enumerate(labels, 1)]


@given(st.lists(_selectors, max_size=6), st.lists(_labels, max_size=6))
def test_an_index_finds_what_a_comparison_with_everything_finds(
    selectors: list[Any], labels: list[dict[str, str]]
) -> None:
    workloads, pods = cached(selecting(selectors), SELECTED), cached(labelled(labels), POD_INDEXES)

    def is_selected(owner: Workload, each: Pod) -> bool:
        return selects(owner.spec["selector"], each.metadata.labels)

    expected = {(owner.key, each.key) for owner in workloads for each in pods if is_selected(owner, each)}
    by_pod = [
        (owner.key, each.key)
        for each in pods
        for owner in possible_selectors(workloads, "default", each.metadata.labels)
        if is_selected(owner, each)
    ]
    by_owner = [
        (owner.key, each.key) for owner in workloads for each in possible_pods(owner, pods) if is_selected(owner, each)
    ]
    orphans = [
        (owner.key, each.key)
        for owner in workloads
        for each in possible_orphans(owner, pods)
        if is_selected(owner, each)
    ]
    assert sorted(by_pod) == sorted(by_owner) == sorted(orphans) == sorted(expected)


def test_a_map_of_labels_is_a_selector_too() -> None:
    services = cached(selecting([{"app": "web", "tier": "front"}, {"app": "db"}, None]), SELECTED)
    found = possible_selectors(services, "default", {"app": "web"}, {"app": "web", "tier": "back"})
    assert [each.metadata.name for each in found] == ["w3", "w1"]


def test_one_of_many_is_found_without_the_others() -> None:
    workloads = cached(selecting([{"matchLabels": {"app": f"a{number}"}} for number in range(500)]), SELECTED)
    pods = cached(labelled([{"app": f"a{number}"} for number in range(500)]), POD_INDEXES)
    (found,) = possible_selectors(workloads, "default", {"app": "a7"})
    assert [each.metadata.name for each in possible_pods(found, pods)] == ["p8"]


def test_owned_pods_are_not_among_the_orphans_of_any_selector() -> None:
    owners = [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "w1", "uid": "u1", "controller": True}]
    metadata = {"resourceVersion": "1", "labels": {"app": "web"}, "ownerReferences": owners}
    pods = cached([pod("owned", metadata=metadata)], POD_INDEXES)
    exists = [{"key": "app", "operator": "Exists"}]
    for each in selecting([{"matchLabels": {"app": "web"}}, {"matchExpressions": exists}]):
        assert ([*possible_orphans(each, pods)], len(possible_pods(each, pods))) == ([], 1)
