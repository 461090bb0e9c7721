"""A strategic merge patch with a value of a wrong type is refused in the words of a real kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.compare import Conversation
from tests.differential.step import STRATEGIC, Step, api, cm

pytestmark = pytest.mark.cluster

_NS = "/api/v1/namespaces/restored"
_CONFIG_MAP = f"{_NS}/configmaps/a"
_DEPLOYMENT = "/apis/apps/v1/namespaces/restored/deployments/a"
_LABELS = {"app": "a"}


def _pod(**spec: Any) -> dict[str, Any]:
    return {"spec": {"template": {"spec": spec}}}


_PATCHES = [
    (_CONFIG_MAP, {"metadata": {"labels": "x"}}),
    (_CONFIG_MAP, {"metadata": {"annotations": ["x"]}}),
    (_CONFIG_MAP, {"metadata": {"labels": {"a": 5}}}),
    (_CONFIG_MAP, {"metadata": {"labels": {"a": True}}}),
    (_CONFIG_MAP, {"metadata": {"finalizers": "x"}}),
    (_CONFIG_MAP, {"data": "x"}),
    (_CONFIG_MAP, {"data": {"x": 1.5}}),
    (_CONFIG_MAP, {"binaryData": {"x": 5}}),
    (_CONFIG_MAP, {"immutable": "x"}),
    (_DEPLOYMENT, {"spec": {"replicas": "x"}}),
    (_DEPLOYMENT, {"spec": {"replicas": 1.5}}),
    (_DEPLOYMENT, {"spec": {"template": "x"}}),
    (_DEPLOYMENT, {"spec": {"paused": 1}}),
    (_DEPLOYMENT, _pod(nodeSelector=["x"])),
    (_DEPLOYMENT, _pod(tolerations=["x"])),
    (_DEPLOYMENT, _pod(containers="x")),
]


@pytest.fixture(scope="module")
def both(ours: Conversation, real: Conversation) -> tuple[Conversation, Conversation]:
    pods = {"metadata": {"labels": _LABELS}, "spec": {"containers": [{"name": "main", "image": "b"}]}}
    spec = {"selector": {"matchLabels": _LABELS}, "template": pods}
    for each in (ours, real):
        for step in (
            Step("namespace", "POST", "/api/v1/namespaces", api("Namespace", "v1", "restored")),
            Step("map", "POST", f"{_NS}/configmaps", cm("a")),
            Step("deployment", "POST", _DEPLOYMENT.removesuffix("/a"), api("Deployment", "apps/v1", "a", spec=spec)),
        ):
            assert each.say(step).status == 201
    return ours, real


@pytest.mark.parametrize(("path", "patch"), _PATCHES, ids=[str(patch) for _, patch in _PATCHES])
def test_a_value_of_a_wrong_type_is_refused_in_the_same_words(
    path: str, patch: dict[str, Any], both: tuple[Conversation, Conversation]
) -> None:
    mine, theirs = (each.say(Step("patch", "PATCH", path, patch, STRATEGIC)) for each in both)
    assert (mine.status, mine.body["reason"]) == (theirs.status, theirs.body["reason"]) == (422, "Invalid")
    words = theirs.body["details"]["causes"][0]["message"].rpartition('": ')[2]
    assert mine.body["details"]["causes"][0]["message"].endswith(f": {words}")
    assert words in mine.body["message"]
