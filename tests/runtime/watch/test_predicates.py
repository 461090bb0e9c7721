from __future__ import annotations

import pytest

from homeostat.runtime.cache.cache import Change
from homeostat.runtime.watch.predicates import (
    Predicate,
    all_of,
    annotations_changed,
    any_of,
    changed,
    generation_changed,
    labels_changed,
)
from tests.runtime.projections import Metadata, Pod

OLD = Pod(Metadata("web", "shop", "1", 3, None, {"app": "web"}, {"team": "blue", "acme.io/mode": "fast"}), "n1")


def became(node: str = "n1", **metadata: object) -> Change[Pod]:
    fields = {each: getattr(OLD.metadata, each) for each in Metadata.__struct_fields__}
    return Change("shop", "web", OLD, Pod(Metadata(**(fields | {"resource_version": "2"} | metadata)), node))


SPEC = became(generation=4)
STATUS = became(node="n2")
DELETING = became(deletion_timestamp="2024-02-29T12:00:00Z")
LABELS = became(labels={"app": "db"})
NO_LABELS = became(labels=None)
TEAM = became(annotations={"team": "red", "acme.io/mode": "fast"})
MODE = became(annotations={"team": "blue", "acme.io/mode": "slow"})
ALL = {
    "spec": SPEC,
    "status": STATUS,
    "deleting": DELETING,
    "labels": LABELS,
    "no labels": NO_LABELS,
    "team": TEAM,
    "mode": MODE,
}

CASES: dict[str, tuple[Predicate[Pod], set[str]]] = {
    "generation": (generation_changed, {"spec", "deleting"}),
    "labels": (labels_changed, {"labels", "no labels"}),
    "any annotation": (annotations_changed(), {"team", "mode"}),
    "one annotation": (annotations_changed("team"), {"team"}),
    "annotations of a prefix": (annotations_changed(prefix="acme.io/"), {"mode"}),
    "a function of one's own": (changed(lambda pod: pod.node), {"status"}),
    "any of": (any_of(generation_changed, labels_changed), {"spec", "deleting", "labels", "no labels"}),
    "all of": (all_of(generation_changed, labels_changed), set()),
}


@pytest.mark.parametrize(("counts", "wanted"), CASES.values(), ids=CASES)
def test_a_predicate_counts_its_changes(counts: Predicate[Pod], wanted: set[str]) -> None:
    assert {name for name, change in ALL.items() if counts(change)} == wanted


@pytest.mark.parametrize("counts", [each for each, _ in CASES.values()], ids=CASES)
def test_what_is_new_or_gone_always_counts(counts: Predicate[Pod]) -> None:
    assert counts(Change("shop", "web", None, OLD))
    assert counts(Change("shop", "web", OLD, None))


def test_every_change_counts_of_a_kind_without_generations() -> None:
    old, new = Pod(Metadata("settings", "shop", "1")), Pod(Metadata("settings", "shop", "2"))
    assert generation_changed(Change("shop", "settings", old, new))


def test_no_labels_and_empty_labels_are_the_same() -> None:
    old, new = Pod(Metadata("web", labels=None)), Pod(Metadata("web", labels={}))
    assert not labels_changed(Change("shop", "web", old, new))
