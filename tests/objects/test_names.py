"""Names, labels and metadata are refused in Kubernetes' words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.errors import Cause
from homeostat.objects.identifiers import (
    config_key,
    env_name,
    label_value,
    path_segment,
    port_name,
    qualified_name,
    wildcard_subdomain,
)
from homeostat.objects.json import JsonObject
from homeostat.objects.names import SUBDOMAIN, check_metadata, check_metadata_update, name_rule

LABEL_FORMAT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SUBDOMAIN_FORMAT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
SERVICE_FORMAT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
KEY_FORMAT = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
VALUE_FORMAT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
RBAC = "rbac.authorization.k8s.io"


@pytest.mark.parametrize(
    ("group", "kind", "name", "messages"),
    [
        ("", "Pod", "web-1.example", []),
        ("", "Pod", "Web", [SUBDOMAIN_FORMAT]),
        ("", "Pod", "a" * 254, ["must be no more than 253 bytes"]),
        ("", "Pod", "a\n", [SUBDOMAIN_FORMAT]),
        ("", "Namespace", "team-a", []),
        ("", "Namespace", "team.a", ["must not contain dots"]),
        ("", "Namespace", "-a", [LABEL_FORMAT]),
        ("", "Namespace", "a" * 64, ["must be no more than 63 bytes"]),
        ("", "Service", "1web", [SERVICE_FORMAT]),
        ("", "Service", "web", []),
        ("batch", "CronJob", "a" * 53, ["must be no more than 52 bytes"]),
        (RBAC, "ClusterRole", "system:Node_Proxier", []),
        (RBAC, "ClusterRole", "a/b%c", ["may not contain '/'", "may not contain '%'"]),
        (RBAC, "ClusterRole", "..", ["may not be '..'"]),
        ("example.com", "Widget", "A", [SUBDOMAIN_FORMAT]),
    ],
)
def test_each_kind_has_its_rule_for_names(group: str, kind: str, name: str, messages: list[str]) -> None:
    assert name_rule(group, kind).messages(name) == messages


@pytest.mark.parametrize("prefix", ["web-", "web.", "we"])
def test_a_prefix_may_end_where_a_name_may_not(prefix: str) -> None:
    refused = prefix == "web."
    assert bool(SUBDOMAIN.prefix_messages(prefix)) is refused


@pytest.mark.parametrize(
    ("key", "messages"),
    [
        ("app", []),
        ("app.kubernetes.io/name", []),
        ("MyName_1.x", []),
        ("", ["name part must be non-empty", KEY_FORMAT]),
        ("/a", ["prefix part must be non-empty"]),
        ("a/", ["name part must be non-empty", KEY_FORMAT]),
        ("-a", [KEY_FORMAT]),
        ("A.b/c", [f"prefix part {SUBDOMAIN_FORMAT}"]),
        ("a" * 64, ["name part must be no more than 63 bytes"]),
        (
            "a/b/c",
            [
                (
                    f"a valid label key {KEY_FORMAT.removeprefix('name part ')} with an optional DNS subdomain "
                    "prefix and '/' (e.g. 'example.com/MyName')"
                )
            ],
        ),
    ],
)
def test_a_key_is_a_name_with_an_optional_prefix(key: str, messages: list[str]) -> None:
    assert qualified_name(key) == messages


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("", []),
        ("v1.2_x", []),
        ("-x", [VALUE_FORMAT]),
        ("a" * 64, ["must be no more than 63 bytes"]),
        ("a\n", [VALUE_FORMAT]),
    ],
)
def test_a_label_value_is_empty_or_a_name(value: str, messages: list[str]) -> None:
    assert label_value(value) == messages


def test_other_words_have_their_rules_too() -> None:
    assert wildcard_subdomain("*.example.com") == []
    assert wildcard_subdomain("*.*.com") != []
    assert port_name("http-2") == []
    assert port_name("--1") == [
        "must contain at least one letter (a-z)",
        "must not contain consecutive hyphens",
        "must not begin or end with a hyphen",
    ]
    assert env_name("1 X") == []
    assert env_name("A=B") != []
    assert config_key("..x") == ["must not start with '..'"]
    assert config_key("a b") != []
    assert path_segment("a b") == []


def metadata(**members: object) -> JsonObject:
    return {"name": "web", "namespace": "default", **members}


OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}


def test_ordinary_metadata_is_accepted() -> None:
    meta = metadata(
        generateName="web-",
        labels={"app": "web", "example.com/tier": ""},
        annotations={"Example.com/Note": "anything at all"},
        ownerReferences=[OWNER, {**OWNER, "name": "b", "controller": False}],
        finalizers=["example.com/keep", "orphan"],
    )
    assert check_metadata(meta, True, SUBDOMAIN) == []


@pytest.mark.parametrize(
    ("meta", "fields"),
    [
        ({"namespace": "default"}, ["metadata.name: Required value: name or generateName is required"]),
        ({"name": "web"}, ["metadata.namespace: Required value"]),
        (metadata(namespace="A"), [f'metadata.namespace: Invalid value: "A": {LABEL_FORMAT}']),
        (metadata(labels={"-": "x"}), [f'metadata.labels: Invalid value: "-": {KEY_FORMAT}']),
        (metadata(labels={"a": "é"}), [f'metadata.labels: Invalid value: "é": {VALUE_FORMAT}']),
        (metadata(annotations={"a b": ""}), [f'metadata.annotations: Invalid value: "a b": {KEY_FORMAT}']),
        (
            metadata(annotations={"a": "x" * 262144}),
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
        ),
        (
            metadata(annotations={"a": "é" * 131072}),
            ["metadata.annotations: Too long: may not be more than 262144 bytes"],
        ),
        (
            metadata(ownerReferences=[{**OWNER, "uid": "", "apiVersion": ""}]),
            [
                'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
                'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
            ],
        ),
        (metadata(finalizers=["a b"]), [f'metadata.finalizers: Invalid value: "a b": {KEY_FORMAT}']),
        (
            metadata(finalizers=["orphan", "foregroundDeletion"]),
            [
                (
                    'metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and '
                    "foregroundDeletion cannot be both set"
                )
            ],
        ),
    ],
)
def test_bad_metadata_is_refused_with_its_field(meta: JsonObject, fields: list[str]) -> None:
    assert told(check_metadata(meta, True, SUBDOMAIN)) == fields


def test_only_one_owner_may_be_the_controller() -> None:
    (cause,) = check_metadata(metadata(ownerReferences=[OWNER, {**OWNER, "name": "b"}]), True, SUBDOMAIN)
    assert cause.field == "metadata.ownerReferences"
    assert cause.message.endswith('Found "true" in references for ReplicaSet/web and ReplicaSet/b')


def test_an_event_owns_nothing() -> None:
    owner = {**OWNER, "apiVersion": "v1", "kind": "Event"}
    (cause,) = check_metadata(metadata(ownerReferences=[owner]), True, SUBDOMAIN)
    assert cause.message.endswith("/v1, Kind=Event is disallowed from being an owner")


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    (cause,) = check_metadata(metadata(), False, SUBDOMAIN)
    assert (cause.field, cause.message) == ("metadata.namespace", "Forbidden: not allowed on this type")


STORED = metadata(uid="u", creationTimestamp="2026-01-01T00:00:00Z", generation=3, finalizers=["a.io/x"])


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({}, []),
        ({"uid": None, "creationTimestamp": None, "generation": 0}, []),
        ({"name": "other"}, ['metadata.name: Invalid value: "other": field is immutable']),
        ({"uid": "v"}, ['metadata.uid: Invalid value: "v": field is immutable']),
        ({"generation": 2}, ["metadata.generation: Invalid value: 2: must not be decremented"]),
        (
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            ['metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable'],
        ),
        ({"finalizers": ["a.io/x", "a.io/y"]}, []),
    ],
)
def test_identity_does_not_change(change: JsonObject, fields: list[str]) -> None:
    assert told(check_metadata_update({**STORED, **change}, STORED)) == fields


def test_a_terminating_object_gains_no_finalizer() -> None:
    terminating = {**STORED, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert check_metadata_update({**terminating, "finalizers": []}, terminating) == []
    (cause,) = check_metadata_update({**terminating, "finalizers": ["a.io/x", "a.io/y"]}, terminating)
    assert cause.field == "metadata.finalizers"
    assert cause.message == (
        "Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers "
        '[]string{"a.io/y"}'
    )


any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
some_metadata = st.dictionaries(
    st.sampled_from(["name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences"]),
    any_json,
)


@given(some_metadata, some_metadata)
def test_no_metadata_makes_an_exception(new: JsonObject, old: JsonObject) -> None:
    check_metadata(new, True, SUBDOMAIN)
    check_metadata_update(new, {**old, "deletionTimestamp": "now"})


def told(causes: list[Cause]) -> list[str]:
    return [f"{each.field}: {each.message}" for each in causes]
