"""Equal parts of many objects are in memory once, and nobody sees a difference."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from homeostat.objects.declared import Declared
from homeostat.runtime.cache import sharing
from homeostat.runtime.cache.decoding import Added, Projection
from homeostat.runtime.cache.sharing import Sharing


class Owner(msgspec.Struct, frozen=True):
    name: str


class Metadata(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    resource_version: str
    namespace: str = ""
    labels: dict[str, str] = {}
    owner_references: tuple[Owner, ...] = ()


class Container(msgspec.Struct, frozen=True):
    image: str
    port: int | None = None


class Spec(msgspec.Struct, frozen=True):
    containers: tuple[Container, ...] = ()


class Pod(msgspec.Struct, frozen=True):
    metadata: Metadata
    spec: Spec | None = None
    phase: str = ""


def pod(name: str, image: str = "a", **labels: str) -> dict[str, Any]:
    owners = [{"name": "web"}]
    metadata = {"name": name, "resourceVersion": "1", "namespace": "shop", "labels": labels, "ownerReferences": owners}
    return {"metadata": metadata, "spec": {"containers": [{"image": image, "port": 80}]}, "phase": "Running"}


def shared(*objects: dict[str, Any]) -> list[Pod]:
    share = Sharing(Pod)
    found = [msgspec.json.decode(msgspec.json.encode(each), type=Pod) for each in objects]
    for each in found:
        share.share(each)
    return found


def test_a_large_part_is_not_remembered() -> None:
    labels = {f"key-{number}": "value" for number in range(500)}
    one, other = shared(pod("a", **labels), pod("b", **labels))
    assert one.metadata.labels == other.metadata.labels
    assert one.metadata.labels is not other.metadata.labels
    one, other = shared(pod("a", image="x" * 5000), pod("b", image="x" * 5000))
    assert one.spec is not other.spec


def test_equal_parts_are_the_same_one() -> None:
    one, other = shared(pod("a", app="x"), pod("b", app="x"))
    assert one.spec is other.spec
    assert one.phase is other.phase
    for field in ("namespace", "labels", "owner_references"):
        assert getattr(one.metadata, field) is getattr(other.metadata, field)
    assert one.metadata.name != other.metadata.name


def test_what_differs_stays_so() -> None:
    given = [pod("a", app="x"), pod("b", image="b", app="x"), pod("c", app="y"), pod("d"), pod("a", app="x")]
    assert shared(*given) == [msgspec.convert(each, Pod) for each in given]


class Loose(msgspec.Struct, frozen=True):
    value: int | bool


class Open(msgspec.Struct):
    value: str = ""


class Tree(msgspec.Struct, frozen=True):
    below: tuple[Tree, ...] = ()


@pytest.mark.parametrize(
    ("kind", "is_shared"),
    [
        (str, True),
        (Spec, True),
        (Spec | None, True),
        (dict[str, str], True),
        (tuple[Owner, ...], True),
        (Loose, False),
        (Open, False),
        (Tree, False),
        (float, False),
        (dict[str, float], False),
        (dict[str, Any], False),
        (list[str], False),
        (msgspec.Raw, False),
    ],
    ids=str,
)
def test_only_what_cannot_be_distinguished_is_shared(kind: Any, is_shared: bool) -> None:
    assert sharing._is_shared(msgspec.inspect.type_info(kind)) == is_shared


def test_what_is_remembered_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "_MOST", 10)
    share = Sharing(Pod)
    for number in range(1000):
        share.share(msgspec.convert(pod(f"p-{number}", image=str(number)), Pod))
        assert all(len(each._values) <= 10 for each in (*share._parts, *share._metadata_parts))


def test_lists_and_events_are_shared_alike() -> None:
    projection = Projection(Pod)
    listed = {"metadata": {"resourceVersion": "5"}, "items": [pod("a", app="x"), pod("b", app="x")]}
    one, other = projection.page(msgspec.json.encode(listed)).objects
    event = projection.event(msgspec.json.encode({"type": "ADDED", "object": pod("c", app="x")}))
    assert isinstance(event, Added)
    assert one.metadata.labels is other.metadata.labels is event.object.metadata.labels


def test_a_declared_object_keeps_its_status() -> None:
    class Widget(Declared, frozen=True):
        spec: Spec = Spec()

    projection = Projection(Widget)
    spec = {"containers": [{"image": "a"}]}
    objects = [{"metadata": {"name": name}, "spec": spec, "status": {"name": name}} for name in ("a", "b")]
    listed = {"metadata": {"resourceVersion": "5"}, "items": objects}
    one, other = projection.page(msgspec.json.encode(listed)).objects
    assert (bytes(one.status), bytes(other.status)) == (b'{"name":"a"}', b'{"name":"b"}')
    assert one.spec is other.spec
