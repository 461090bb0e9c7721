"""What many Pods have in common is held once, and is what it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.pool import Pool
from homeostat.objects.views.labels import Labels, labels_of
from tests.operators.policy.worlds import container, pod_json, to_pod

texts = st.text(max_size=4)


def test_the_first_of_equal_values_replaces_all_others() -> None:
    pool = Pool[tuple[int, ...]](8)
    first, second = (tuple(range(2)) for _ in range(2))
    assert pool.share(first) is first
    assert pool.share(second) is first


def test_what_is_remembered_has_a_bound() -> None:
    pool = Pool[int](8)
    for number in range(100):
        assert pool.share(number) == number
        assert len(pool) <= 8


@given(st.dictionaries(texts, texts, max_size=5), texts)
def test_labels_are_a_mapping_like_any_other(given: dict[str, str], key: str) -> None:
    labels = labels_of(given)
    assert labels == given
    assert dict(labels) == given
    assert (labels.get(key), key in labels, len(labels)) == (given.get(key), key in given, len(given))
    turned = labels_of(dict(reversed(given.items())))
    assert (labels == turned, hash(labels) == hash(turned)) == (True, True)
    assert labels_of(dict(given)) is labels


def test_a_label_without_value_is_empty() -> None:
    assert labels_of({"app": None})["app"] == ""
    with pytest.raises(KeyError):
        Labels()["app"]


def test_replicas_share_all_but_their_names() -> None:
    owner, labels = ("ReplicaSet", "web-5d4f"), {"app": "web"}
    first, second = (to_pod(pod_json(name=name, owner=owner, labels=labels)) for name in ("web-1", "web-2"))
    assert first.spec is second.spec
    assert first.status is second.status
    assert first.metadata.labels is second.metadata.labels
    assert first.metadata.owner_references is second.metadata.owner_references


def test_workloads_share_the_parts_that_are_alike() -> None:
    resources = {"requests": {"cpu": "100m"}, "limits": {"memory": "1Gi"}}
    ports = [{"containerPort": 8080}]
    (first,), (second,) = (
        to_pod(pod_json({**container(image), "resources": resources, "ports": ports})).containers
        for image in ("web:1", "api:1")
    )
    assert (first.image, second.image) == ("web:1", "api:1")
    assert first.resources is second.resources
    assert first.ports is second.ports
    assert first.liveness_probe is second.liveness_probe


@pytest.mark.parametrize(("phase", "is_kept"), [("Pending", True), ("Running", False)])
def test_when_a_pod_was_made_is_kept_while_it_waits(phase: str, is_kept: bool) -> None:
    assert (to_pod(pod_json(phase=phase)).metadata.creation_timestamp is not None) == is_kept
