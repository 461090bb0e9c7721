"""Watches deliver what those of a real kube-apiserver deliver."""

from __future__ import annotations

import http.client
import ssl

import msgspec
import pytest

from tests.differential.compare import Conversation, differences
from tests.differential.reasons import is_allowed
from tests.differential.step import MERGE, Step, cm

pytestmark = pytest.mark.cluster
_NAMESPACE = "watched"
_CM = f"/api/v1/namespaces/{_NAMESPACE}/configmaps"
_RELEASED = {"metadata": {"finalizers": None, "labels": {"l": "1"}}, "data": {"written": "last"}}


@pytest.fixture(scope="module", autouse=True)
def namespace(ours: Conversation, real: Conversation) -> None:
    for server in (ours, real):
        body = {"metadata": {"name": _NAMESPACE}}
        assert server.say(Step("namespace", "POST", "/api/v1/namespaces", body)).status == 201


@pytest.mark.parametrize("query", ["", "?labelSelector=l%3D0"])
def test_a_released_object_is_deleted_as_it_was_before(ours: Conversation, real: Conversation, query: str) -> None:
    found: list[list[object]] = []
    for server in (ours, real):
        server.say(Step("held", "POST", _CM, cm("held", labels={"l": "0"}, finalizers=["example.com/hold"])))
        since = server.revision(_CM)
        server.say(Step("delete", "DELETE", f"{_CM}/held"))
        assert server.say(Step("release", "PATCH", f"{_CM}/held", _RELEASED, MERGE)).body["data"]["written"] == "last"
        found.append(server.events(f"{_CM}{query}", since, 1))
    mine, theirs = found
    assert [each for each in differences(mine, theirs) if not is_allowed("", each)] == []


def test_a_watch_ends_with_a_bookmark(ours: Conversation, real: Conversation) -> None:
    for server in (ours, real):
        host, port = server._connection.host, server._connection.port
        stream = http.client.HTTPSConnection(host, port, context=ssl._create_unverified_context(), timeout=20)
        path = f"{_CM}?watch=1&timeoutSeconds=5&allowWatchBookmarks=true&resourceVersion={server.revision(_CM)}"
        stream.request("GET", path, headers=server._headers())
        response = stream.getresponse()
        server.say(Step("written meanwhile", "POST", _CM, cm("meanwhile")))
        events = [msgspec.json.decode(each) for each in response.read().splitlines()]
        (added,) = [each for each in events if each["type"] != "BOOKMARK"]
        assert (added["type"], events[-1]["type"]) == ("ADDED", "BOOKMARK")
        versions = [int(each["object"]["metadata"]["resourceVersion"]) for each in (added, events[-1])]
        assert versions == sorted(versions)
        stream.close()
