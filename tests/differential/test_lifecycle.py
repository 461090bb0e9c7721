"""An object of every built-in kind lives on the plane as it does on a real kube-apiserver.

These are the calls of Kubernetes' conformance tests that need no Nodes: create, read, list with selectors and in all
namespaces, patch in four ways, replace, write the status, watch, delete one and delete a collection.
"""

from __future__ import annotations

import re

import pytest

from homeostat.objects.wire.encode import encode
from homeostat.objects.wire.protobuf import MAGIC, decode
from tests.differential.compare import Answer, Conversation, differences
from tests.differential.lifecycle import LIVES, MANDATORY_STEPS, NAMESPACE, REASONS, Life, life_steps
from tests.differential.reasons import is_allowed
from tests.differential.step import PROTOBUF, Step, account

pytestmark = pytest.mark.cluster
_OTHER_EVENTS = {
    **dict.fromkeys(("PersistentVolume", "PersistentVolumeClaim"), "the real server keeps them by a finalizer"),
    **dict.fromkeys(("ReplicationController", "Job"), "they wait for the collector, which orphans their Pods"),
    **dict.fromkeys(("Node", "FlowSchema"), "a controller of the real server writes to them"),
    **dict.fromkeys(("ServiceCIDR", "ResourceClaim"), "a write that changes only managers has an event there"),
    "Pod": "a Pod without a grace period is marked and deleted in one write here",
}
"""Kinds whose events are not compared, and why."""


@pytest.fixture(scope="module", autouse=True)
def namespace(ours: Conversation, real: Conversation) -> None:
    created = Step("namespace", "POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    for step in (created, account(NAMESPACE)):
        assert ours.say(step).status == real.say(step).status == 201


@pytest.mark.parametrize("life", LIVES, ids=lambda life: f"{life.kind} {life.group_version}")
def test_a_life_is_the_same(life: Life, ours: Conversation, real: Conversation) -> None:
    since = [each.revision(life.collection) for each in (ours, real)]
    found = [each for step in life_steps(life) for each in _differences(life, step, ours.say(step), real.say(step))]
    assert found == []
    if life.kind not in _OTHER_EVENTS:
        mine, theirs = (
            server.events(f"{life.collection}?labelSelector=life", revision, deletions=2)
            for server, revision in zip((ours, real), since, strict=True)
        )
        assert [each["type"] for each in mine] == [each["type"] for each in theirs]
        assert [each for each in differences(mine, theirs) if not _is_allowed(life, "event", each)] == []


@pytest.mark.parametrize("step", MANDATORY_STEPS, ids=lambda step: step.id)
def test_mandatory_objects_are_the_same(step: Step, ours: Conversation, real: Conversation) -> None:
    life = next(life for life in LIVES if life.plural in step.path)
    assert _differences(life, step, ours.say(step), real.say(step)) == []


def _differences(life: Life, step: Step, mine: Answer, theirs: Answer) -> list[str]:
    if mine.status != theirs.status:
        return [f"{step.id}: HTTP {mine.status}, expected {theirs.status}: {mine.body}, expected {theirs.body}"]
    if step.accept.startswith(PROTOBUF):
        assert mine.type == theirs.type
        for raw in (mine.raw, theirs.raw):
            assert not raw.startswith(MAGIC) or encode(decode(raw)) == raw, step.id
    found = [f"{step.id}: warned {mine.warnings}, expected {theirs.warnings}"] * (mine.warnings != theirs.warnings)
    unlike = differences(mine.body, theirs.body)
    return found + [f"{step.id}{each}" for each in unlike if not _is_allowed(life, step.id, each)]


def _is_allowed(life: Life, step: str, difference: str) -> bool:
    path = step + difference.partition(": ")[0]
    return is_allowed("", difference) or any(re.search(each, path) for each in REASONS.get(life.kind, {}))
