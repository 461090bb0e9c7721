"""The default roles and bindings of a plane are those of kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from tests.differential.compare import Conversation
from tests.differential.step import Step

pytestmark = pytest.mark.cluster
_PLURALS = ("clusterroles", "clusterrolebindings", "roles", "rolebindings")
_DEFAULTS = "labelSelector=kubernetes.io/bootstrapping%3Drbac-defaults"


def _defaults(server: Conversation, plural: str) -> dict[tuple[str, str], Any]:
    answer = server.say(Step("list", "GET", f"/apis/rbac.authorization.k8s.io/v1/{plural}?{_DEFAULTS}"))
    assert answer.status == 200
    return {
        (each["metadata"].get("namespace", ""), each["metadata"]["name"]): _comparable(each)
        for each in answer.body["items"]
    }


def _comparable(obj: dict[str, Any]) -> dict[str, Any]:
    found = {name: value for name, value in obj.items() if name not in ("metadata", "apiVersion", "kind")}
    if "aggregationRule" in found:
        # A controller writes them, and there is none beside the real server.
        found.pop("rules", None)
    metadata = {name: obj["metadata"].get(name) for name in ("labels", "annotations")}
    return {**found, "metadata": metadata}


@pytest.mark.parametrize("plural", _PLURALS)
def test_default_roles_and_bindings_are_those_of_the_real_server(
    ours: Conversation, real: Conversation, plural: str
) -> None:
    here, there = _defaults(ours, plural), _defaults(real, plural)
    assert sorted(here) == sorted(there)
    assert [name for name in there if here[name] != there[name]] == []
