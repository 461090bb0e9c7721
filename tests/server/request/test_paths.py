"""Paths of the API: the same answer whether or not the collection was seen before."""

from __future__ import annotations

import pytest

from homeostat.objects.errors import BadRequestError
from homeostat.server.request import paths
from homeostat.server.request.paths import ObjectPath, parse_path

POD = ObjectPath("", "v1", "pods", "a", "p")
CASES: dict[str, ObjectPath | None] = {
    "/api/v1/namespaces/a/pods": ObjectPath("", "v1", "pods", "a"),
    "/api/v1/namespaces/a/pods/p": POD,
    "/api/v1/namespaces/a/pods/p/": POD,
    "//api/v1/namespaces/a/pods/p": POD,
    "/api/v1/namespaces/a/pods/p/status": POD._replace(subresource="status"),
    "/api/v1/namespaces/a/pods/p/a/b": POD._replace(subresource="a/b"),
    "/api/v1/namespaces/a/pods/%70": POD,
    "/api/v1/namespaces": ObjectPath("", "v1", "namespaces"),
    "/api/v1/namespaces/a": ObjectPath("", "v1", "namespaces", "", "a"),
    "/api/v1/namespaces/a/status": ObjectPath("", "v1", "namespaces", "", "a", "status"),
    "/api/v1/namespaces/a/finalize": ObjectPath("", "v1", "namespaces", "", "a", "finalize"),
    "/api/v1/namespaces/a/status/b": ObjectPath("", "v1", "status", "a", "b"),
    "/api/v1/namespaces/pods/status": ObjectPath("", "v1", "namespaces", "", "pods", "status"),
    "/api/v1/namespaces/a/pods/p//": POD,
    "/api/v1/namespaces/a/pods//": ObjectPath("", "v1", "pods", "a"),
    "/api/v1/namespaces//pods": None,
    "/api/v1/namespaces/a//p": None,
    "/apis/apps/v1/deployments": ObjectPath("apps", "v1", "deployments"),
    "/apis/apps/v1/deployments/d": ObjectPath("apps", "v1", "deployments", "", "d"),
    "/api/v1/watch/namespaces/a/pods": ObjectPath("", "v1", "pods", "a", is_watch=True),
    "/api/v1/watch/namespaces/a/pods/p": POD._replace(is_watch=True),
    "/api/v1/watch/namespaces/a": ObjectPath("", "v1", "namespaces", "", "a", is_watch=True),
    "/api/v1/watch/namespaces": ObjectPath("", "v1", "namespaces", is_watch=True),
    "/apis/apps/v1/watch/deployments": ObjectPath("apps", "v1", "deployments", is_watch=True),
    "/api/v1/watch/namespaces/a/pods/p/status": None,
    "/api/v1/watch": ObjectPath("", "v1", "watch"),
    "/api/v1/watch/pods": ObjectPath("", "v1", "pods", is_watch=True),
    "/api/v1/namespaces/a/watch/p": ObjectPath("", "v1", "watch", "a", "p"),
    "/apis/apps/v1": None,
    "/apis": None,
    "/api/v1": None,
    "/version": None,
    "/": None,
    "/api/v1/pods/1/2/3/4/5/6/7/8/9": None,
}


@pytest.mark.parametrize("is_known", [False, True], ids=["first", "again"])
def test_a_path_is_the_one_of_its_object(is_known: bool) -> None:
    paths._collections.clear()
    for _ in range(2 if is_known else 1):
        found = {}
        for path in CASES:
            if not is_known:
                paths._collections.clear()
            found[path] = parse_path(path)
    assert found == CASES


@pytest.mark.parametrize("segment", ["..", ".", "%2e%2e", "a%2fb", "%00", "%ff"])
def test_an_invalid_name_is_refused_in_a_known_collection(segment: str) -> None:
    parse_path("/api/v1/namespaces/a/pods/p")
    with pytest.raises(BadRequestError, match="path segment"):
        parse_path(f"/api/v1/namespaces/a/pods/{segment}")
    for path in (f"{segment}/status", f"p/{segment}"):
        with pytest.raises(BadRequestError, match="path segment"):
            parse_path(f"/api/v1/namespaces/a/pods/{path}")


def test_the_number_and_length_of_known_collections_are_bounded() -> None:
    for number in range(2_500):
        parse_path(f"/api/v1/namespaces/n{number}/pods/p")
    assert len(paths._collections) <= 1_000
    paths._collections.clear()
    parse_path(f"/api/v1/namespaces/{'n' * 400}/pods/p")
    assert not paths._collections
