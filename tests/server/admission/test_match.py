from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from homeostat.server.admission.match import Match, Occasion, match_of, resource_match, rule_of
from homeostat.server.kinds.registry import Kind
from tests.api.conftest import Api
from tests.api.objects import CONFIGMAPS, configmap
from tests.server.admission.hooks import CONFIGMAP_RULE, VALIDATING, Hooks, configuration

POD = Kind(group="", version="v1", kind="Pod", plural="pods", namespaced=True)
NODE = Kind(group="", version="v1", kind="Node", plural="nodes", namespaced=False)
NAMESPACE = Kind(group="", version="v1", kind="Namespace", plural="namespaces", namespaced=False)
DEPLOYMENT = Kind(group="apps", version="v1", kind="Deployment", plural="deployments", namespaced=True)
OLDER = Kind(group="apps", version="v1beta1", kind="Deployment", plural="deployments", namespaced=True)
ANY: dict[str, Any] = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}


@dataclass
class Write:
    name: str = "a"
    namespace: Mapping[str, str] | None = None
    objects: Sequence[Mapping[str, str]] = field(default_factory=lambda: [{}])

    @property
    def is_in_namespace(self) -> bool:
        return self.namespace is not None

    def namespace_labels(self) -> Mapping[str, str]:
        assert self.namespace is not None
        return self.namespace

    def labels(self) -> Sequence[Mapping[str, str]]:
        return self.objects


@pytest.mark.parametrize(
    ("rule", "kind", "subresource", "matches"),
    [
        ({}, POD, "", True),
        ({}, POD, "status", False),
        ({"resources": ["*/*"]}, POD, "status", True),
        ({"resources": ["*/*"]}, POD, "", True),
        ({"resources": ["pods"]}, POD, "", True),
        ({"resources": ["pods"]}, POD, "status", False),
        ({"resources": ["pods/status"]}, POD, "status", True),
        ({"resources": ["pods/status"]}, POD, "", False),
        ({"resources": ["pods/*"]}, POD, "status", True),
        ({"resources": ["pods/*"]}, POD, "", True),
        ({"resources": ["*/scale"]}, DEPLOYMENT, "scale", True),
        ({"resources": ["*/scale"]}, DEPLOYMENT, "", False),
        ({"resources": ["nodes", "pods"]}, POD, "", True),
        ({"apiGroups": [""]}, POD, "", True),
        ({"apiGroups": [""]}, DEPLOYMENT, "", False),
        ({"apiGroups": ["apps", "batch"]}, DEPLOYMENT, "", True),
        ({"apiVersions": ["v1"]}, OLDER, "", False),
        ({"operations": ["CREATE"]}, POD, "", True),
        ({"operations": ["UPDATE", "DELETE"]}, POD, "", False),
        ({"scope": "Namespaced"}, POD, "", True),
        ({"scope": "Namespaced"}, NODE, "", False),
        ({"scope": "Namespaced"}, NAMESPACE, "", False),
        ({"scope": "Cluster"}, NAMESPACE, "", True),
        ({"scope": "Cluster"}, NODE, "", True),
        ({"scope": "Cluster"}, POD, "", False),
        ({"scope": "*"}, NODE, "", True),
    ],
    ids=str,
)
def test_a_rule_matches(rule: dict[str, Any], kind: Kind, subresource: str, matches: bool) -> None:
    assert rule_of({**ANY, **rule}).matches(Occasion(kind, subresource, "CREATE")) is matches


def kind_for(match: Match, kind: Kind, write: Write, others: Sequence[Kind] = ()) -> Kind | None:
    narrowed = match.narrow(Occasion(kind, "", "CREATE"), others)
    return None if narrowed is None else narrowed.kind_for(write)


@pytest.mark.parametrize(
    ("policy", "versions", "shown"),
    [
        ("Equivalent", ["v1beta1"], OLDER),
        ("Exact", ["v1beta1"], None),
        ("Equivalent", ["v1", "v1beta1"], DEPLOYMENT),
        ("Equivalent", ["v2"], None),
    ],
)
def test_an_object_is_shown_at_a_version_that_the_rules_name(
    policy: str, versions: list[str], shown: Kind | None
) -> None:
    rule = rule_of({**ANY, "apiVersions": versions})
    match = match_of({"matchPolicy": policy}, (rule,))
    assert kind_for(match, DEPLOYMENT, Write(), [OLDER]) is shown


@pytest.mark.parametrize(
    ("match", "write", "is_matched"),
    [
        ({}, Write(), True),
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, Write(namespace={"a": "b"}), True),
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, Write(namespace={}), False),
        ({"namespaceSelector": {"matchLabels": {"a": "b"}}}, Write(), True),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, Write(objects=[{"a": "b"}]), True),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, Write(objects=[{}, {"a": "b"}]), True),
        ({"objectSelector": {"matchLabels": {"a": "b"}}}, Write(objects=[{}, {}]), False),
        ({"resourceRules": [ANY]}, Write(), True),
        ({"resourceRules": [{**ANY, "resourceNames": ["a"]}]}, Write("a"), True),
        ({"resourceRules": [{**ANY, "resourceNames": ["a"]}]}, Write("b"), False),
        ({"excludeResourceRules": [ANY]}, Write(), False),
        ({"excludeResourceRules": [{**ANY, "resourceNames": ["a"]}]}, Write("a"), False),
        ({"excludeResourceRules": [{**ANY, "resourceNames": ["a"]}]}, Write("b"), True),
        ({"excludeResourceRules": [{**ANY, "resources": ["nodes"]}]}, Write(), True),
    ],
    ids=str,
)
def test_a_policys_constraints_match(match: dict[str, Any], write: Write, is_matched: bool) -> None:
    assert (kind_for(resource_match(match), POD, write) is POD) is is_matched


def test_a_webhook_without_rules_is_never_asked() -> None:
    assert kind_for(match_of({}, ()), POD, Write()) is None


async def ask(api: Api, hooks: Hooks, webhook: dict[str, Any], obj: dict[str, Any], path: str = CONFIGMAPS) -> bool:
    """Whether a webhook hears of a create."""
    configured = await api("POST", VALIDATING, configuration(webhook))
    assert configured.status == 201, configured.json
    answer = await api("POST", path, obj)
    assert answer.status == 201, answer.json
    return bool(hooks.seen)


@pytest.mark.parametrize("value", ["default", "other"])
async def test_the_labels_of_the_namespace_select(api: Api, hooks: Hooks, value: str) -> None:
    selector = {"matchLabels": {"kubernetes.io/metadata.name": value}}
    await api(
        "PATCH",
        "/api/v1/namespaces/default",
        {"metadata": {"labels": {"kubernetes.io/metadata.name": "default"}}},
        type="application/merge-patch+json",
    )
    heard = await ask(api, hooks, hooks.webhook(namespaceSelector=selector), configmap())
    assert heard is (value == "default")


@pytest.mark.parametrize("value", ["b", "c"])
async def test_a_new_namespace_is_selected_by_its_own_labels(api: Api, hooks: Hooks, value: str) -> None:
    webhook = hooks.webhook(
        rules=[{**CONFIGMAP_RULE, "resources": ["namespaces"]}], namespaceSelector={"matchLabels": {"a": "b"}}
    )
    namespace = {"metadata": {"name": "new", "labels": {"a": value}}}
    assert await ask(api, hooks, webhook, namespace, "/api/v1/namespaces") is (value == "b")


async def test_a_webhook_is_asked_only_where_its_conditions_hold(api: Api, hooks: Hooks) -> None:
    conditions = [{"name": "c", "expression": "object.data.x == '1' && request.namespace == 'default'"}]
    assert await ask(api, hooks, hooks.webhook(matchConditions=conditions), configmap())
    await api("POST", CONFIGMAPS, configmap("b", data={"x": "2"}))
    assert len(hooks.seen) == 1


async def test_a_condition_without_a_value_refuses_the_write(api: Api, hooks: Hooks) -> None:
    conditions = [{"name": "c", "expression": "object.data.missing == '1'"}]
    await api("POST", VALIDATING, configuration(hooks.webhook(matchConditions=conditions)))
    refused = await api("POST", CONFIGMAPS, configmap())
    assert refused.status == 403
    told = (
        "configmaps \"a\" is forbidden: expression 'object.data.missing == '1'' resulted in error: no such key: missing"
    )
    assert refused.json["message"] == told
    assert hooks.seen == []
