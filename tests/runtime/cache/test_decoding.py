from __future__ import annotations

from sys import getrefcount

import pytest

from homeostat.objects.declared import Declared
from homeostat.objects.json import JsonObject, encode
from homeostat.runtime.cache.decoding import (
    Added,
    Bookmark,
    GarbledError,
    Projection,
    Refused,
    UnreadableObject,
    name_of,
    version_of,
)
from tests.runtime.projections import Pod, pod

PODS = Projection(Pod)


def wire(name: str, version: int, **fields: object) -> JsonObject:
    metadata = {"name": name, "namespace": "shop", "resourceVersion": str(version), "selfLink": "x"}
    return {"kind": "Pod", "metadata": metadata, "spec": {"containers": [{"name": "c"}]}, **fields}


def event(kind: str, obj: JsonObject) -> bytes:
    return encode({"type": kind, "object": obj})


def test_a_line_becomes_the_fields_that_the_projection_names() -> None:
    web = pod("web", 4, node="n1")
    assert PODS.event(event("ADDED", wire("web", 4, node="n1"))) == Added(web)
    assert (name_of(web), version_of(web)) == (("shop", "web"), 4)


@pytest.mark.parametrize(("annotations", "ends"), [(None, False), ({"k8s.io/initial-events-end": "true"}, True)])
def test_a_bookmark_needs_no_name(annotations: dict[str, str] | None, ends: bool) -> None:
    mark = PODS.event(event("BOOKMARK", {"metadata": {"resourceVersion": "9", "annotations": annotations}}))
    assert isinstance(mark, Bookmark)
    assert (mark.version, mark.ends_initial_events) == (9, ends)


def test_an_error_is_its_status() -> None:
    assert PODS.event(event("ERROR", {"kind": "Status", "code": 410})) == Refused({"kind": "Status", "code": 410})


def test_an_unreadable_object_is_named() -> None:
    found = PODS.event(event("MODIFIED", wire("web", 4, node=1)))
    assert found == UnreadableObject("shop", "web", 4, "Expected `str`, got `int` - at `$.node`")


def test_the_others_of_a_page_are_decoded() -> None:
    items = [wire("a", 1), wire("b", 2, node=[]), wire("c", 3)]
    page = PODS.page(encode({"metadata": {"resourceVersion": "7", "continue": "more"}, "items": items}))
    assert page.objects == [pod("a", 1), pod("c", 3)]
    assert [(each.name, each.version) for each in page.unreadable] == [("b", 2)]
    assert (page.token, page.version) == ("more", 7)


def test_a_kept_object_does_not_keep_the_bytes_it_came_in() -> None:
    declared = Projection(Declared)
    items = [wire("a", 1, status={"ready": True})]
    line, body = event("ADDED", items[0]), encode({"metadata": {"resourceVersion": "7"}, "items": items})
    before = getrefcount(line), getrefcount(body)
    kept = [declared.event(line), *declared.page(body).objects]
    assert (len(kept), getrefcount(line), getrefcount(body)) == (2, *before)


@pytest.mark.parametrize("items", [b"null", b"[]"])
def test_an_empty_page_may_be_null(items: bytes) -> None:
    page = PODS.page(b'{"metadata":{"resourceVersion":"7"},"items":%s}' % items)
    assert (page.objects, page.token, page.version) == ([], "", 7)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"<html>",
        b"\xff",
        b'{"items":[]}',
        b'{"metadata":{"resourceVersion":"x"},"items":[]}',
        b'{"metadata":{"resourceVersion":"7"},"items":[{"kind":"Pod"}]}',
        b"[" * 100_000,
    ],
    ids=["nothing", "array", "html", "bytes", "no-metadata", "no-number", "no-name", "deep"],
)
def test_what_is_no_page_is_garbled(body: bytes) -> None:
    with pytest.raises(GarbledError):
        PODS.page(body)


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"7",
        b'{"type":"ADDED","object":{"meta',
        b'{"type":"NEWS","object":{}}',
        b'{"type":"ADDED","object":{"metadata":{"name":"\xff"}}}',
        b'{"type":"BOOKMARK","object":{}}',
        b'{"type":"ADDED","object":%s' % (b'{"a":' * 100_000),
    ],
    ids=["nothing", "number", "half", "unknown", "bytes", "bare", "deep"],
)
def test_what_is_no_event_is_garbled(line: bytes) -> None:
    with pytest.raises(GarbledError):
        PODS.event(line)


def test_one_object_is_read_alone() -> None:
    found = PODS.object(b'{"kind":"Pod","metadata":{"name":"web","resourceVersion":"7","uid":"u"}}')
    assert (found.metadata.name, found.metadata.resource_version) == ("web", "7")


@pytest.mark.parametrize("body", [b"", b"{}", b'{"metadata":{"name":7}}', b"[" * 100_000], ids=range(4))
def test_what_is_no_object_of_the_projection_is_garbled(body: bytes) -> None:
    with pytest.raises(GarbledError):
        PODS.object(body)
