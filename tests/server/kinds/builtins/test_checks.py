"""What the server accepts of each built-in kind, and how it reports what it does not."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from time import process_time
from types import ModuleType

import pytest

from homeostat.objects.json import Json
from homeostat.server.kinds.builtins import checks
from homeostat.server.kinds.builtins.checks import MODULES, check, check_changed, status
from tests.server.kinds.builtins.manifests import ADMISSION, GOOD, defaulted, put, told


@pytest.mark.parametrize(("group", "kind"), GOOD)
def test_a_good_object_is_accepted(group: str, kind: str) -> None:
    assert told(check(group, kind, defaulted(group, kind, GOOD[group, kind], uid="u-1"))) == []


def test_the_table_names_the_module_of_every_rule() -> None:
    named = {(group, kind): module for group, kinds in MODULES.items() for kind, module in kinds.items()}
    found = {key: name for key, name in _rules_in(checks) if not name.startswith("status.")}
    assert found == named


def test_the_table_names_the_module_of_every_rule_on_a_status() -> None:
    assert dict(_rules_in(status)) == status.MODULES


def _rules_in(package: ModuleType) -> Iterator[tuple[tuple[str, str], str]]:
    for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        for key in getattr(import_module(each.name), "CHECKS", ()):
            yield key, each.name.removeprefix(f"{package.__name__}.")


def test_a_kind_without_rules_is_accepted() -> None:
    assert check("example.com", "Widget", {"spec": 3}) == []


@pytest.mark.parametrize(("rules", "fields"), [(454, []), (455, ["spec.rules"])])
def test_the_rules_of_a_flow_schema_have_a_limited_number_of_items(rules: int, fields: list[str]) -> None:
    group, kind = "flowcontrol.apiserver.k8s.io", "FlowSchema"
    spec = GOOD[group, kind]["spec"]  # Eleven items a rule, with itself.
    schema = {"spec": {**spec, "rules": spec["rules"] * rules}}
    assert [each.field for each in check(group, kind, defaulted(group, kind, schema, uid="u-1"))] == fields


_MANY = 30_000
_NAMES = [f"n{at}" for at in range(_MANY)]
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_RULE = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}
LONG: dict[str, tuple[tuple[str, str], str, Json]] = {
    "names in a rule": (
        (ADMISSION, "ValidatingAdmissionPolicy"),
        "spec.matchConstraints.resourceRules",
        [{**_RULE, "resourceNames": _NAMES}],
    ),
    "values of a topology": (
        ("storage.k8s.io", "StorageClass"),
        "allowedTopologies",
        [{"matchLabelExpressions": [{"key": "zone", "values": _NAMES}]}],
    ),
    "scopes of a quota": (
        ("", "ResourceQuota"),
        "spec",
        {"scopes": ["BestEffort"] * _MANY, "hard": dict.fromkeys(["pods", *(f"a/{each}" for each in _NAMES)], "1")},
    ),
    "claims": (
        ("", "Pod"),
        "spec",
        {
            "resourceClaims": [{"name": each, "resourceClaimName": "a"} for each in _NAMES],
            "containers": [{"name": "a", "image": "b", "resources": {"claims": [{"name": each} for each in _NAMES]}}],
        },
    ),
    "volumes and claims": (
        ("apps", "StatefulSet"),
        "spec",
        {
            "selector": {"matchLabels": {"a": "b"}},
            "volumeClaimTemplates": [{"metadata": {"name": f"c{each}"}, "spec": _CLAIM} for each in _NAMES[:15_000]],
            "template": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {
                    "containers": [{"name": "a", "image": "b"}],
                    "volumes": [{"name": each, "emptyDir": {}} for each in _NAMES],
                },
            },
        },
    ),
    "resources of containers": (
        ("", "Pod"),
        "spec",
        {
            "resources": {"limits": {f"hugepages-{at + 1}Mi": "0" for at in range(2_000)}, "requests": {"cpu": "1"}},
            "containers": [{"name": f"c{at}", "image": "b"} for at in range(4_000)],
        },
    ),
}


@pytest.mark.parametrize("case", LONG.values(), ids=LONG)
def test_long_lists_are_checked_in_linear_time(case: tuple[tuple[str, str], str, Json]) -> None:
    (group, kind), path, value = case
    obj = defaulted(group, kind, put(GOOD[group, kind], path, value), uid="u-1")
    began = process_time()
    causes = check(group, kind, obj)
    assert process_time() - began < 1.5
    assert {each.field for each in causes} <= {"spec.resources"}  # Huge pages need memory, too.


TEXTS = {
    "brackets in the path of a field": (
        "spec.containers.0.env",
        [{"name": "N", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "['" * 20_000}}}],
        "spec.containers[0].env[0].valueFrom.fieldRef.fieldPath",
    ),
    "starts of an iSCSI name": (
        "spec.volumes",
        [{"name": "disk", "iscsi": {"targetPortal": "a:1", "iqn": "iqn.2020-01.a" * 20_000, "lun": 0}}],
        "spec.volumes[0].iscsi.iqn",
    ),
}


@pytest.mark.parametrize(("path", "value", "field"), TEXTS.values(), ids=TEXTS)
def test_long_texts_are_checked_in_linear_time(path: str, value: Json, field: str) -> None:
    pod = defaulted("", "Pod", put(GOOD["", "Pod"], path, value), uid="u-1")
    began = process_time()
    causes = check("", "Pod", pod)
    assert process_time() - began < 0.5
    assert field in {each.field for each in causes}


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("metadata.labels['app']", ""),
        ("metadata.labels['a['b']", "name part must consist of"),
        ("spec.nodeName['a']", "does not support subscript"),
        ("['a']", "field label not supported"),
        ("metadata.labels['app'", "field label not supported"),
    ],
)
def test_a_field_may_have_a_subscript(path: str, problem: str) -> None:
    env = [{"name": "N", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}]
    pod = defaulted("", "Pod", put(GOOD["", "Pod"], "spec.containers.0.env", env), uid="u-1")
    causes = check("", "Pod", pod)
    assert [problem in each.message for each in causes] == ([True] if problem else [])


def test_webhook_names_are_unique() -> None:
    kind = "MutatingWebhookConfiguration"
    webhook = GOOD[ADMISSION, kind]["webhooks"][0]
    causes = check(ADMISSION, kind, defaulted(ADMISSION, kind, {"webhooks": [webhook, webhook]}))
    assert told(causes) == ['webhooks[1].name: Duplicate value: "check.example.com"']


def test_a_job_without_a_uid_yet_is_accepted() -> None:
    assert check("batch", "Job", defaulted("batch", "Job", GOOD["batch", "Job"])) == []


def test_a_daemon_set_of_which_pods_are_deleted_by_hand_may_keep_the_bounds_of_its_updates() -> None:
    strategy = {"type": "OnDelete", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}}
    body = put(GOOD["apps", "DaemonSet"], "spec.updateStrategy", strategy)
    assert told(check("apps", "DaemonSet", defaulted("apps", "DaemonSet", body))) == []


def test_every_problem_is_reported() -> None:
    pod = defaulted("", "Pod", {"spec": {"containers": [{"ports": [{}]}, {}]}})
    assert [each.field for each in check("", "Pod", pod)] == [
        "spec.containers[0].name",
        "spec.containers[0].image",
        "spec.containers[0].ports[0].containerPort",
        "spec.containers[1].name",
        "spec.containers[1].image",
    ]


def test_a_time_zone_that_was_accepted_once_refuses_no_other_change() -> None:
    old = put(defaulted("batch", "CronJob", GOOD["batch", "CronJob"]), "spec.timeZone", "Mars/Olympus")
    assert [each.field for each in check("batch", "CronJob", old)] == ["spec.timeZone"]
    assert check_changed("batch", "CronJob", put(old, "spec.suspend", True), old) == []
    for path, value in (("spec.timeZone", "Mars/Tharsis"), ("spec.schedule", "")):
        causes = check_changed("batch", "CronJob", put(old, path, value), old)
        assert [each.field for each in causes] == [path]
