"""A plane classifies requests as kube-apiserver does, and has the same objects of flow control."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.differential.compare import Conversation
from tests.differential.step import Step

pytestmark = pytest.mark.cluster
_FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
_KINDS = ("prioritylevelconfigurations", "flowschemas")
_MERGE = "application/merge-patch+json"
_AUTHENTICATED = "system:authenticated"
_ACCOUNTS = "system:serviceaccounts"
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
_REQUESTS = [
    Step("administrator", "GET", "/api/v1/namespaces"),
    Step("page", "GET", "/version", user="jane", groups=(_AUTHENTICATED,)),
    Step("probe", "GET", "/livez", user="jane", groups=(_AUTHENTICATED,)),
    Step("one probe", "GET", "/readyz/ping", user="jane", groups=(_AUTHENTICATED,)),
    Step("list", "GET", "/api/v1/pods", user="jane", groups=(_AUTHENTICATED,)),
    Step("unknown resource", "GET", "/api/v1/nothing", user="jane", groups=(_AUTHENTICATED,)),
    Step("namespace", "GET", "/api/v1/namespaces/default", user="jane", groups=(_AUTHENTICATED,)),
    Step("account", "GET", "/api/v1/pods", user="system:serviceaccount:a:b", groups=(_ACCOUNTS, _AUTHENTICATED)),
    Step("of kube-system", "GET", "/api/v1/pods", user="system:serviceaccount:kube-system:b", groups=(_AUTHENTICATED,)),
    Step("leader", "GET", _LEASE, user="system:kube-scheduler", groups=(_AUTHENTICATED,)),
    Step("scheduler", "GET", "/api/v1/pods", user="system:kube-scheduler", groups=(_AUTHENTICATED,)),
    Step("kubelet", "GET", "/api/v1/pods", user="system:node:n1", groups=("system:nodes", _AUTHENTICATED)),
    Step("heartbeat", "GET", _LEASE, user="system:node:n1", groups=("system:nodes", _AUTHENTICATED)),
    Step("status of a Node", "GET", "/api/v1/nodes/n1", user="system:node:n1", groups=("system:nodes", _AUTHENTICATED)),
]


def _named(server: Conversation) -> dict[str, str]:
    """The names of the objects, by uid."""
    return {uid: name for kind in _KINDS for uid, name in server.uids(f"{_FLOW}/{kind}").items()}


@pytest.mark.parametrize("kind", _KINDS)
def test_the_default_objects_are_those_of_the_real_server(ours: Conversation, real: Conversation, kind: str) -> None:
    def defaults(server: Conversation) -> dict[str, Any]:
        found = server.say(Step("list", "GET", f"{_FLOW}/{kind}")).body["items"]
        return {each["metadata"]["name"]: each for each in found if "annotations" in each["metadata"]}

    assert defaults(ours) == defaults(real)


@pytest.mark.parametrize("step", _REQUESTS, ids=lambda step: step.id)
def test_a_request_gets_the_same_schema_and_level(step: Step, ours: Conversation, real: Conversation) -> None:
    mine, theirs = ([_named(each).get(uid) for uid in each.flow(step)] for each in (ours, real))
    assert mine == theirs
    assert None not in mine


def test_own_objects_classify_alike(ours: Conversation, real: Conversation) -> None:
    level = {"type": "Limited", "limited": {"nominalConcurrencyShares": 1, "limitResponse": {"type": "Reject"}}}
    rule = {
        "subjects": [{"kind": "User", "user": {"name": "noxu"}}],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    schema = {"priorityLevelConfiguration": {"name": "own"}, "matchingPrecedence": 1000, "rules": [rule]}
    page = Step("page", "GET", "/version", user="noxu", groups=(_AUTHENTICATED,))
    for server in (ours, real):
        for kind, spec in zip(_KINDS, (level, schema), strict=True):
            created = server.say(Step(kind, "POST", f"{_FLOW}/{kind}", {"metadata": {"name": "own"}, "spec": spec}))
            assert created.status == 201
        # A controller has to see them there.
        deadline = time.monotonic() + 10
        while [_named(server).get(each) for each in server.flow(page)] != ["own", "own"]:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        for kind in _KINDS:
            assert server.say(Step(kind, "DELETE", f"{_FLOW}/{kind}/own")).status == 200


@pytest.mark.parametrize("name", ["exempt", "catch-all"])
@pytest.mark.parametrize("kind", _KINDS)
def test_mandatory_objects_are_protected_alike(kind: str, name: str, ours: Conversation, real: Conversation) -> None:
    spec = {"type": "Limited"} if kind == _KINDS[0] else {"matchingPrecedence": 5}
    change = Step(
        "change", "PATCH", f"{_FLOW}/{kind}/{name}", {"spec": {**spec, "limited": {"lendablePercent": 7}}}, _MERGE
    )
    mine, theirs = ours.say(change), real.say(change)
    assert mine.status == theirs.status == 422
    for answer in (mine, theirs):
        assert f"spec of '{name}'" in answer.body["message"]
