"""What many Pods have in common is held once, and is what it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.memory.pool import Pool, size_of
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


def test_what_is_remembered_has_a_bound_in_bytes() -> None:
    pool = Pool[tuple[str, ...]](1000, most_bytes=64_000)
    for number in range(1000):
        pool.share((f"{number:0500}",))
        assert len(pool) * 500 < 64_000
    assert len(pool) > 10


def test_a_large_value_is_not_remembered() -> None:
    pool = Pool[tuple[str, ...]](1000, most_bytes=64_000)
    large = ("x" * 1000,)
    assert pool.share(large) is large
    assert len(pool) == 0


@pytest.mark.parametrize(
    ("value", "least"), [("x" * 1000, 1000), (("x" * 100,) * 10, 1000), (Labels(), 0), (None, 0), (((),) * 100, 1000)]
)
def test_the_size_of_a_value_counts_its_parts(value: object, least: int) -> None:
    assert least <= size_of(value, 10_000) < 10_000


def test_a_size_is_counted_no_further_than_it_matters() -> None:
    assert 500 < size_of(tuple(("x" * 100,) for _ in range(100_000)), 500) < 1000


def test_many_labels_are_not_remembered() -> None:
    many = {f"key-{number}": "value" for number in range(1000)}
    assert labels_of(many) == many
    assert labels_of(many) is not labels_of(dict(many))


def test_a_pod_of_many_containers_is_not_remembered() -> None:
    body = pod_json(*(container(name=f"c{number}") for number in range(5000)))
    first, second = to_pod(body), to_pod(body)
    assert first == second
    assert first.spec is not second.spec


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
