"""Which volume a claim gets, and which claims a changed volume concerns."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from homeostat.operators.workloads.api import Meta, Workload
from homeostat.operators.workloads.volumes.binding import (
    NO_PROVISIONER,
    Assign,
    Bind,
    Provision,
    StorageClass,
    Wait,
    fits,
    plan,
)
from homeostat.operators.workloads.volumes.decide import (
    is_free_for,
    offered_keys,
    offers_more,
    unbound_keys,
)
from homeostat.operators.workloads.volumes.protection import CLAIM_PROTECTION, next_finalizers
from tests.operators.workloads.objects import THEN, workload

OWN = {"namespace": "default", "name": "data"}


def claim(storage: str = "2Gi", **spec: Any) -> Workload:
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": storage}}, **spec}
    return workload("data", **{"storageClassName": "", **spec})


def volume(name: str, storage: str = "2Gi", *, labels: dict[str, str] | None = None, **spec: Any) -> Workload:
    metadata = {"namespace": "", "labels": labels or {}}
    spec = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": storage}, **spec}
    return workload(name, metadata=metadata, **spec)


def storage_class(**fields: str) -> StorageClass:
    return StorageClass(Meta("fast"), **fields)


@pytest.mark.parametrize(
    ("wanted", "volumes", "expected"),
    [
        (claim(), [volume("a", "9Gi"), volume("b", "3Gi"), volume("c", "1Gi")], "b"),
        (claim(), [volume("b"), volume("a")], "a"),
        (claim(), [volume("a"), volume("z", "9Gi", claimRef=OWN)], "z"),
        (claim(), [volume("a", claimRef={**OWN, "name": "other"})], None),
        (claim(), [volume("a", claimRef={**OWN, "uid": "of an earlier one"})], None),
        (claim(), [volume("a", claimRef={**OWN, "uid": "uid-data"})], "a"),
        (claim(), [volume("a", storageClassName="fast")], None),
        (claim(), [volume("a", volumeMode="Block")], None),
        (claim(), [volume("a", volumeAttributesClassName="gold")], None),
        (claim(volumeAttributesClassName="gold"), [volume("a"), volume("b", volumeAttributesClassName="gold")], "b"),
        (claim(accessModes=["ReadWriteMany"]), [volume("a")], None),
        (claim(selector={"matchLabels": {"disk": "ssd"}}), [volume("a"), volume("b", labels={"disk": "ssd"})], "b"),
        (claim(selector={"matchExpressions": [{"key": "disk", "operator": "Near"}]}), [volume("a")], None),
        (claim(), [], None),
    ],
)
def test_a_claim_gets_the_smallest_free_volume_that_fits(
    wanted: Workload, volumes: list[Workload], expected: str | None
) -> None:
    found = plan(wanted, None, volumes, is_used=False)
    assert (found.volume.metadata.name if isinstance(found, Bind) else None) == expected
    assert isinstance(found, Bind | Wait)


@pytest.mark.parametrize("seed", range(20))
def test_no_smaller_volume_would_have_fitted(seed: int) -> None:
    choose = Random(seed)

    def some(number: int) -> Workload:
        spec: dict[str, Any] = {
            "storageClassName": choose.choice(("", "fast")),
            "accessModes": choose.choice(([], ["ReadWriteOnce"])),
        }
        reserved = choose.choice((None, None, {**OWN, "name": "other"}))
        return volume(f"v{number}", f"{choose.randint(1, 6)}Gi", claimRef=reserved, **spec)

    volumes, wanted = [some(number) for number in range(12)], claim(f"{choose.randint(1, 6)}Gi")
    found = plan(wanted, None, volumes, is_used=False)
    fitting = [each for each in volumes if is_free_for(each, wanted) and fits(each, wanted)]
    assert isinstance(found, Bind) == bool(fitting)
    # The indexes hide no volume from the claim that it could have had.
    offered = {"class": ("class", ""), "claim": ("claim", "default", "data")}
    assert all(set(offered_keys(each)) & set(offered.values()) for each in fitting)
    if isinstance(found, Bind):
        sizes = [int(each.spec["capacity"]["storage"][:-2]) for each in fitting]
        assert found.volume in fitting
        assert int(found.volume.spec["capacity"]["storage"][:-2]) == min(sizes)
    assert plan(wanted, None, list(reversed(volumes)), is_used=False) == found


@pytest.mark.parametrize(
    ("class_", "is_used", "expected"),
    [
        (None, False, Provision("Delete")),
        (storage_class(reclaim_policy="Retain"), False, Provision("Retain")),
        (storage_class(volume_binding_mode="WaitForFirstConsumer"), True, Provision("Delete")),
        (storage_class(volume_binding_mode="WaitForFirstConsumer"), False, "WaitForFirstConsumer"),
        (storage_class(provisioner=NO_PROVISIONER), False, "FailedBinding"),
    ],
)
def test_the_class_says_what_happens_without_a_volume(
    class_: StorageClass | None, is_used: bool, expected: Provision | str
) -> None:
    found = plan(claim(storageClassName="fast"), class_, [], is_used=is_used)
    assert (found.reason if isinstance(found, Wait) else found) == expected


def test_a_claim_that_leaves_its_class_open_gets_the_newest_default_one() -> None:
    def default(name: str, created: str) -> StorageClass:
        marks = {"storageclass.kubernetes.io/is-default-class": "true"}
        return StorageClass(Meta(name, annotations=marks, creation_timestamp=created))

    def planned(wanted: Workload, *classes: StorageClass) -> Any:
        return plan(wanted, None, [], is_used=False, classes=classes)

    free, old, new = claim(storageClassName=None), default("a", THEN), default("c", "2099-01-01T00:00:00Z")
    assert planned(free) == Provision("Delete")
    assert planned(free, storage_class()).reason == "FailedBinding"
    assert planned(free, old, new, default("b", new.metadata.creation_timestamp)) == Assign("b")
    assert isinstance(planned(claim(), new), Wait)
    assert planned(claim(storageClassName="gone"), new) == Provision("Delete")


def test_a_claim_waits_for_its_class_or_for_the_volume_that_it_names() -> None:
    assert unbound_keys(claim(storageClassName="fast")) == (("class", "fast"),)
    assert unbound_keys(claim(volumeName="disk")) == (("volume", "disk"),)
    assert unbound_keys(workload("data", status={"phase": "Bound"})) == ()
    assert offered_keys(volume("a", storageClassName="fast")) == (("class", "fast"),)
    assert offered_keys(volume("a", claimRef=OWN)) == (("claim", "default", "data"),)


@pytest.mark.parametrize(
    ("old", "new", "is_more"),
    [
        (None, volume("a"), True),
        (volume("a", claimRef=OWN), volume("a"), True),
        (volume("a"), volume("a", labels={"disk": "ssd"}), True),
        (volume("a"), volume("a"), False),
        (volume("a"), None, False),
    ],
)
def test_only_a_new_or_freed_volume_wakes_claims(old: Workload | None, new: Workload | None, is_more: bool) -> None:
    assert offers_more(old, new) is is_more


@pytest.mark.parametrize(
    ("finalizers", "is_terminating", "is_used", "expected"),
    [
        ((), False, False, [CLAIM_PROTECTION]),
        (("other",), False, True, ["other", CLAIM_PROTECTION]),
        ((CLAIM_PROTECTION,), False, False, None),
        ((CLAIM_PROTECTION, "other"), True, False, ["other"]),
        ((CLAIM_PROTECTION,), True, True, None),
        (("other",), True, False, None),
    ],
    ids=["a new one", "beside another", "protected", "deleted", "deleted and used", "deleted before it was protected"],
)
def test_a_claim_is_protected_until_nobody_uses_it(
    finalizers: tuple[str, ...], is_terminating: bool, is_used: bool, expected: list[str] | None
) -> None:
    meta = Meta("data", finalizers=finalizers, deletion_timestamp=THEN if is_terminating else None)
    assert next_finalizers(meta, CLAIM_PROTECTION, is_used=is_used) == expected
