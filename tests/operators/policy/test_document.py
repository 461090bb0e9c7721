"""Policies as documents: read with every fault, exported, compared; and the bundles that ship."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.policy.api import KINDS, DevOpsPolicy, PolicyStatus
from homeostat.operators.policy.bundle import NAMES, UnknownBundleError, load_bundle, policy_of
from homeostat.operators.policy.document import (
    EXPORTED_AT,
    EXPORTED_FROM,
    PolicyDocumentError,
    compare_policy,
    export_policies,
    is_policy,
    read_policy,
)
from homeostat.operators.policy.spec import PolicySpec, Rule
from tests.operators.policy.worlds import ALL, WORST, totals_of


def document(spec: Any = None, **metadata: Any) -> JsonObject:
    named = {"name": "strict", "namespace": "shop", **metadata}
    return {"apiVersion": "devops.stochastic.io/v1", "kind": "DevOpsPolicy", "metadata": named, "spec": spec or {}}


def test_a_policy_is_read_and_compiled() -> None:
    found = read_policy(document({"forbidLatestTag": True}))
    assert (found.title, found.spec) == ("shop/strict", PolicySpec(forbid_latest_tag=True))


def test_a_policy_of_the_cluster_has_no_namespace() -> None:
    cluster = {**document({"namespaceSelector": {"matchLabels": {"a": "b"}}}), "kind": "ClusterDevOpsPolicy"}
    assert read_policy(cluster).title == "strict"


FAULTS = [
    pytest.param({"maxRestartCount": -1}, "spec.maxRestartCount", id="negative"),
    pytest.param({"maxRestartCount": 10**30}, "spec.maxRestartCount", id="huge"),
    pytest.param({"enforcementMode": "maybe"}, "spec.enforcementMode", id="no mode"),
    pytest.param({"forbidLatestTags": True}, "spec.forbidLatestTags: unknown field", id="a misspelt field"),
    pytest.param({"weights": {"latestTag": 5000}}, "spec.weights.latestTag", id="a heavy weight"),
    pytest.param({"rules": [{"name": "a"}]}, "spec.rules[0].expression", id="a rule without an expression"),
    pytest.param({"rules": [{"name": "a", "expression": "1"}]}, "spec.rules[0].expression: must be", id="a number"),
    pytest.param({"exemptions": [{}]}, "spec.exemptions[0].reason", id="an exemption without a reason"),
    pytest.param([], "spec", id="a list"),
]


@pytest.mark.parametrize(("spec", "told"), FAULTS)
def test_a_fault_of_a_policy_names_its_path(spec: Any, told: str) -> None:
    with pytest.raises(PolicyDocumentError) as caught:
        read_policy({**document(), "spec": spec or [1]})
    assert told in str(caught.value)


@pytest.mark.parametrize("metadata", [None, {}, {"name": ""}, {"name": 7}])
def test_a_policy_without_a_name_is_refused(metadata: Any) -> None:
    with pytest.raises(PolicyDocumentError, match=r"metadata\.name"):
        read_policy({**document(), "metadata": metadata})


@pytest.mark.parametrize(
    "value",
    [None, [], "text", {}, {"kind": "DevOpsPolicy"}, {"apiVersion": "v1", "kind": "Pod"}, {**document(), "kind": []}],
)
def test_other_documents_are_no_policies(value: Any) -> None:
    assert not is_policy(value)


def test_absent_fields_are_left_out_and_read_as_absent() -> None:
    assert msgspec.json.encode(PolicySpec()) == b"{}"
    assert msgspec.json.decode(b"{}", type=PolicySpec) == PolicySpec()
    assert msgspec.to_builtins(PolicySpec(forbid_latest_tag=False)) == {"forbidLatestTag": False}
    assert msgspec.to_builtins(PolicyStatus(health_score=9)) == {"healthScore": 9}


def test_a_policy_of_an_older_version_is_read() -> None:
    data = b'{"metadata":{"name":"a"},"spec":{"forbidLatestTag":true},"status":{"violations":3}}'
    policy = msgspec.json.decode(data, type=DevOpsPolicy)
    assert policy.spec == PolicySpec(forbid_latest_tag=True)
    assert policy.read_status(PolicyStatus).violations == 3


def test_what_is_written_is_read_back() -> None:
    spec = load_bundle("hardened").spec
    assert msgspec.convert(msgspec.to_builtins(spec), PolicySpec) == spec


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.kind.kind)
def test_a_server_takes_the_definitions(kind: Any) -> None:
    definition = kind.definition()
    assert definition["spec"]["group"] == "devops.stochastic.io"
    assert definition == kind.definition()


def test_the_columns_show_the_score() -> None:
    (version,) = KINDS[0].definition()["spec"]["versions"]
    names = [each["name"] for each in version["additionalPrinterColumns"]]
    assert names[:4] == ["Score", "Healthy", "Violations", "Mode"]
    assert KINDS[0].kind.short_names == ("dop",)


@pytest.mark.parametrize("name", ["Baseline", "RESTRICTED", " permissive ", "hardened"])
def test_a_bundle_is_found_whatever_its_case(name: str) -> None:
    assert load_bundle(name).name == name.strip().lower()


def test_an_unknown_bundle_lists_the_known_ones() -> None:
    with pytest.raises(
        UnknownBundleError, match=r'unknown bundle "nope"; known bundles: baseline, hardened, permissive, restr'
    ):
        load_bundle("nope")


@pytest.mark.parametrize("name", NAMES)
def test_a_bundle_is_a_policy_that_is_valid(name: str) -> None:
    body = policy_of(load_bundle(name))
    found = read_policy(body)
    assert (found.title, found.spec) == ("default/devops-policy", load_bundle(name).spec)
    assert body["metadata"]["labels"]["devops.stochastic.io/bundle"] == name


def test_the_restricted_bundle_by_severity_leaves_nothing_of_the_worst() -> None:
    spec = msgspec.structs.replace(load_bundle("restricted").spec, scoring="severity")
    assert totals_of(spec, WORST).score == 0


def test_an_export_keeps_what_people_wrote() -> None:
    server = document({"maxRestartCount": 3}, uid="u", resourceVersion="9", labels={"a": "b"}, finalizers=["x"])
    server["status"] = {"healthScore": 7}
    server["metadata"]["annotations"] = {"mine": "1", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
    first = document(name="another")
    now = datetime(2026, 11, 16, 12, tzinfo=UTC)
    exported = export_policies([server, first], context="prod", now=now)
    assert [each["metadata"]["name"] for each in exported] == ["another", "strict"]
    assert exported[1] == {
        "apiVersion": "devops.stochastic.io/v1",
        "kind": "DevOpsPolicy",
        "metadata": {
            "name": "strict",
            "namespace": "shop",
            "labels": {"a": "b"},
            "annotations": {"mine": "1", EXPORTED_AT: "2026-11-16T12:00:00Z", EXPORTED_FROM: "prod"},
        },
        "spec": {"maxRestartCount": 3},
    }
    assert read_policy(exported[1]).spec == PolicySpec(max_restart_count=3)


OLD = {"maxRestartCount": 3, "defaultProbe": {"tcpPort": 80}}
DIFFS = [
    pytest.param(OLD, OLD, ["[=] shop/strict"], id="the same"),
    pytest.param(OLD, None, ["[+] shop/strict"], id="not in the cluster"),
    pytest.param(
        {"maxRestartCount": 5, "defaultProbe": {"tcpPort": 80}, "forbidLatestTag": True},
        OLD,
        [
            "[~] shop/strict",
            "  + spec.forbidLatestTag: true",
            "  - spec.maxRestartCount: 3",
            "  + spec.maxRestartCount: 5",
        ],
        id="changed",
    ),
    pytest.param(
        {},
        OLD,
        ["[~] shop/strict", '  - spec.defaultProbe: {"tcpPort":80}', "  - spec.maxRestartCount: 3"],
        id="emptied",
    ),
    pytest.param(
        {"rules": [{"name": "a", "expression": "true"}]},
        {"rules": [{"name": "a", "expression": "true", "severity": "medium", "weight": 3}]},
        ["[=] shop/strict"],
        id="what the server filled in is no difference",
    ),
]


@pytest.mark.parametrize(("local", "remote", "lines"), DIFFS)
def test_a_comparison_shows_each_path(local: JsonObject, remote: JsonObject | None, lines: list[str]) -> None:
    assert compare_policy(document(local), None if remote is None else document(remote)) == lines


def test_a_comparison_reports_what_cannot_be_read() -> None:
    (line,) = compare_policy(document({"maxRestartCount": "x"}), None)
    assert line.startswith("[!] shop/strict: spec.maxRestartCount")
    (line,) = compare_policy(document(), document({"maxRestartCount": "x"}))
    assert line.startswith("[!] shop/strict: cannot read the object in the cluster")
    (line,) = compare_policy({**document(), "metadata": 7}, None)
    assert line.startswith("[!] default/None: ")


def test_specs_are_equal_by_value() -> None:
    rule = Rule(name="a", expression="true")
    assert msgspec.structs.replace(ALL, rules=(rule,)) == msgspec.structs.replace(ALL, rules=(rule,))
