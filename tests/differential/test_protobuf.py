"""Clients that accept protobuf alone get from the plane what they get from a real kube-apiserver.

Objects of every built-in kind are compared in `test_lifecycle.py`.
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from homeostat.objects.wire.encode import encode
from homeostat.objects.wire.protobuf import MAGIC, decode
from tests.differential.compare import Answer, Conversation, differences
from tests.differential.reasons import is_allowed
from tests.differential.step import (
    APPLY,
    CRDS,
    MERGE,
    PARTIAL_LIST_PROTOBUF,
    PROTOBUF,
    Step,
    api,
    cm,
)

pytestmark = pytest.mark.cluster

MAPS = "/api/v1/namespaces/proto/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/proto/deployments"
CLOCKS = "/apis/proto.example.com/v1/namespaces/proto/clocks"
REVIEWS = "/apis/authorization.k8s.io/v1"
PARTIAL = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
TABLE = f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1"
WATCH = "watch=true&timeoutSeconds=5"
STREAMED = f"{WATCH}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"

_SCALED = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
_VERSION = {
    "name": "v1",
    "served": True,
    "storage": True,
    "subresources": {"scale": _SCALED},
    "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
}
_NAMES = {"plural": "clocks", "singular": "clock", "kind": "Clock"}
_CONTAINER = {"name": "c", "image": "i", "resources": {"limits": {"cpu": "500m"}}}
_LABELS = {"app": "web"}
_TEMPLATE = {"metadata": {"labels": _LABELS}, "spec": {"containers": [_CONTAINER]}}
SETUP = [
    Step("namespace", "POST", "/api/v1/namespaces", api("Namespace", "v1", "proto")),
    Step(
        "definition",
        "POST",
        CRDS,
        api(
            "CustomResourceDefinition",
            "apiextensions.k8s.io/v1",
            "clocks.proto.example.com",
            spec={"group": "proto.example.com", "scope": "Namespaced", "names": _NAMES, "versions": [_VERSION]},
        ),
    ),
    Step("account", "POST", "/api/v1/namespaces/proto/serviceaccounts", api("ServiceAccount", "v1", "robot")),
    Step("map", "POST", MAPS, cm("a", labels={"of": "proto"})),
    Step(
        "deployment",
        "POST",
        DEPLOYMENTS,
        api(
            "Deployment",
            "apps/v1",
            "web",
            spec={"replicas": 0, "selector": {"matchLabels": _LABELS}, "template": _TEMPLATE},
        ),
    ),
]
_CLOCK = api("Clock", "proto.example.com/v1", "c", spec={"replicas": 2})
_ASKED = {
    "apiVersion": "authorization.k8s.io/v1",
    "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
}
STEPS = [
    Step("create", "POST", MAPS, cm("b"), accept=PROTOBUF),
    Step("create what exists", "POST", MAPS, cm("b"), accept=PROTOBUF),
    Step("create invalid", "POST", MAPS, cm("B!"), accept=PROTOBUF),
    Step("create from protobuf", "POST", MAPS, encode(cm("c")), PROTOBUF, PROTOBUF),
    Step("replace", "PUT", f"{MAPS}/b", cm("b", {"y": "2"}), accept=PROTOBUF),
    Step("merge", "PATCH", f"{MAPS}/b", {"data": {"z": "3"}}, MERGE, PROTOBUF),
    Step("apply", "PATCH", f"{MAPS}/d?fieldManager=m", cm("d"), APPLY, PROTOBUF),
    Step("read nothing", "GET", f"{MAPS}/none", accept=PROTOBUF),
    Step("read nothing as metadata", "GET", f"{MAPS}/none", accept=PARTIAL),
    Step("read as metadata", "GET", f"{MAPS}/b", accept=PARTIAL),
    Step("read as a table", "GET", f"{MAPS}/b", accept=TABLE),
    Step("list as a table", "GET", MAPS, accept=TABLE),
    Step("list in a stream's form", "GET", MAPS, accept=f"{PROTOBUF};stream=watch"),
    Step("list in an unknown stream's form", "GET", MAPS, accept=f"{PROTOBUF};stream=other"),
    Step("page", "GET", f"{MAPS}?limit=2", accept=PROTOBUF),
    Step("list none", "GET", f"{MAPS}?labelSelector=of%3Dnone", accept=PROTOBUF),
    Step("list no metadata", "GET", f"{MAPS}?labelSelector=of%3Dnone", accept=PARTIAL_LIST_PROTOBUF),
    Step("list by a wrong selector", "GET", f"{MAPS}?labelSelector=((", accept=PROTOBUF),
    Step("scale", "GET", f"{DEPLOYMENTS}/web/scale", accept=PROTOBUF),
    Step("scale up", "PATCH", f"{DEPLOYMENTS}/web/scale", {"spec": {"replicas": 3}}, MERGE, PROTOBUF),
    Step("delete", "DELETE", f"{MAPS}/b", accept=PROTOBUF),
    Step("delete as metadata", "DELETE", f"{MAPS}/c", accept=PARTIAL),
    Step("delete some", "DELETE", f"{MAPS}?fieldSelector=metadata.name%3Dd", accept=PROTOBUF),
    Step("evict nothing", "POST", "/api/v1/namespaces/proto/pods/p/eviction", api("Eviction", "policy/v1", "p")),
    Step(
        "review",
        "POST",
        f"{REVIEWS}/selfsubjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SelfSubjectAccessReview",
            "spec": {"resourceAttributes": _ASKED},
        },
        accept=PROTOBUF,
    ),
    Step(
        "review nobody",
        "POST",
        f"{REVIEWS}/subjectaccessreviews",
        {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": {"resourceAttributes": _ASKED},
        },
        accept=PROTOBUF,
    ),
    Step("custom", "POST", CLOCKS, _CLOCK, accept=PROTOBUF),
    Step("custom was not created", "GET", f"{CLOCKS}/c"),
    Step("custom in JSON", "POST", CLOCKS, _CLOCK),
    Step("read custom", "GET", f"{CLOCKS}/c", accept=PROTOBUF),
    Step("read custom that is not there", "GET", f"{CLOCKS}/none", accept=PROTOBUF),
    Step("list custom", "GET", CLOCKS, accept=PROTOBUF),
    Step("watch custom", "GET", f"{CLOCKS}?{WATCH}", accept=PROTOBUF),
    Step("scale custom", "GET", f"{CLOCKS}/c/scale", accept=PROTOBUF),
    Step("read custom's metadata", "GET", f"{CLOCKS}/c", accept=PARTIAL),
    Step("list custom's metadata", "GET", CLOCKS, accept=PARTIAL_LIST_PROTOBUF),
    Step("custom with JSON as well", "GET", f"{CLOCKS}/c", accept=f"{PROTOBUF},application/json"),
    Step("group", "GET", "/apis/apps", accept=PROTOBUF),
    Step("resources of a group", "GET", "/apis/apps/v1", accept=PROTOBUF),
    Step("forbidden", "GET", MAPS, accept=PROTOBUF, user="nobody"),
]


@pytest.fixture(scope="module")
def answers(ours: Conversation, real: Conversation) -> dict[str, tuple[Answer, Answer]]:
    for step in SETUP:
        assert (step.id, ours.say(step).status, real.say(step).status) == (step.id, 201, 201)
    deadline = time.monotonic() + 30
    while real.say(Step("served", "GET", CLOCKS)).status != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    return {step.id: (ours.say(step), real.say(step)) for step in STEPS}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_the_answer_is_the_same(step: Step, answers: dict[str, tuple[Answer, Answer]]) -> None:
    mine, theirs = answers[step.id]
    assert (mine.status, mine.type) == (theirs.status, theirs.type), (mine.body, theirs.body)
    assert [each for each in differences(mine.body, theirs.body) if not is_allowed("", each)] == []


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.id)
def test_what_go_encodes_is_encoded_the_same(step: Step, answers: dict[str, tuple[Answer, Answer]]) -> None:
    for answer in answers[step.id]:
        assert not answer.raw.startswith(MAGIC) or encode(decode(answer.raw)) == answer.raw


WATCHES: dict[str, tuple[str, str, int]] = {
    "objects": (f"{MAPS}?{WATCH}&fieldSelector=metadata.name%3Da", PROTOBUF, 1),
    "in the form of streams": (f"{MAPS}?{WATCH}&labelSelector=of%3Dproto", f"{PROTOBUF};stream=watch", 1),
    "metadata": (f"{MAPS}?{WATCH}&labelSelector=of%3Dproto", PARTIAL, 1),
    "custom metadata": (f"{CLOCKS}?{WATCH}", f"{PROTOBUF};stream=watch;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", 1),
    "a streaming list": (f"{MAPS}?{STREAMED}&labelSelector=of%3Dproto", PROTOBUF, 2),
    "a streaming list of metadata": (f"{MAPS}?{STREAMED}&labelSelector=of%3Dproto", PARTIAL, 2),
}


@pytest.mark.parametrize("watch", WATCHES)
def test_a_watch_is_the_same(watch: str, answers: Any, ours: Conversation, real: Conversation) -> None:
    path, accept, count = WATCHES[watch]
    assert ours.frames(path, accept, count) == real.frames(path, accept, count)


def test_aggregated_discovery_has_the_same_form(ours: Conversation, real: Conversation) -> None:
    accept = f"{PROTOBUF};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    mine, theirs = (each.say(Step("core", "GET", "/api", accept=accept)) for each in (ours, real))
    assert mine.type == theirs.type == accept
    assert encode(decode(theirs.raw)) == theirs.raw
    shown, expected = (_resources(answer) for answer in (mine, theirs))
    assert shown["configmaps"] == expected["configmaps"]


def _resources(answer: Answer) -> dict[str, Any]:
    found = answer.body["items"][0]["versions"][0]["resources"]
    return {each["resource"]: each for each in found}
