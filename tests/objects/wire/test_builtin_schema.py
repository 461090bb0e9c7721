"""Schemas of the built-in kinds say what Kubernetes says."""

from __future__ import annotations

import msgspec
import pytest

from homeostat.objects.schema.schema import UNSET, Schema
from homeostat.objects.wire.builtin_schema import builtin_schema, type_schema
from homeostat.objects.wire.type_table import kind_named, type_named
from tests.objects.facts import FACTS, needs_facts

KINDS = [
    ("", "v1", "Pod"),
    ("", "v1", "SecretList"),
    ("apps", "v1", "Deployment"),
    ("autoscaling", "v1", "HorizontalPodAutoscaler"),
    ("autoscaling", "v1", "Scale"),
    ("autoscaling", "v2", "HorizontalPodAutoscaler"),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole"),
    ("apiextensions.k8s.io", "v1", "CustomResourceDefinition"),
    ("flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"),
    ("events.k8s.io", "v1", "Event"),
    ("authorization.k8s.io", "v1", "SelfSubjectAccessReview"),
]


def at(schema: Schema, path: str) -> Schema:
    """The schema at a dotted path; `*` is an item or a map's value."""
    for name in path.split("."):
        found = (schema.items or schema.additional) if name == "*" else schema.properties.get(name)
        assert found is not None, f"no {name} in {path}"
        schema = found
    return schema


@pytest.mark.parametrize(("group", "version", "kind"), KINDS)
def test_a_built_in_kind_has_a_schema_with_metadata(group: str, version: str, kind: str) -> None:
    schema = builtin_schema(group, version, kind)
    assert schema.type == "object"
    assert {"apiVersion", "kind", "metadata"} <= schema.properties.keys()


@pytest.mark.parametrize(
    ("group", "version", "kind"),
    [("example.com", "v1", "Widget"), ("", "v1", "PodSpec"), ("", "v2", "Pod"), ("apps.evil", "v1", "Deployment")],
)
def test_anything_else_is_not_a_built_in_kind(group: str, version: str, kind: str) -> None:
    with pytest.raises(KeyError):
        builtin_schema(group, version, kind)


@pytest.mark.parametrize("version", ["../data/core.v1", "v1/../v1", "v1\0", ".", ""])
def test_a_version_from_outside_never_becomes_a_file_name(version: str) -> None:
    assert kind_named("", version, "Pod") is None


POD = builtin_schema("", "v1", "Pod")
SERVICE = builtin_schema("", "v1", "Service")
FACTS_OF_FIELDS = {
    "merge key": (at(POD, "spec.containers").patch_merge_key, "name"),
    "patch strategy": (at(POD, "spec.volumes").patch_strategy, ("merge", "retainKeys")),
    "list type": (at(POD, "spec.containers").list_type, "map"),
    "map keys": (at(SERVICE, "spec.ports").map_keys, ("port", "protocol")),
    "set": (at(POD, "metadata.finalizers").list_type, "set"),
    "atomic list": (at(POD, "spec.tolerations").list_type, "atomic"),
    "atomic map": (at(POD, "spec.nodeSelector").map_type, "atomic"),
    "atomic struct": (at(POD, "spec.containers.*.env.*.valueFrom.secretKeyRef").map_type, "atomic"),
    "default": (at(SERVICE, "spec.ports.*.protocol").default, "TCP"),
    "no default of zero": (at(SERVICE, "spec.ports.*.port").default, UNSET),
    "required": (at(SERVICE, "spec.ports.*").required, ("port",)),
    "int or string": (at(SERVICE, "spec.ports.*.targetPort").int_or_string, True),
    "inlined struct": (at(POD, "spec.volumes.*.secret.secretName").type, "string"),
    "format": (at(POD, "spec.activeDeadlineSeconds").format, "int64"),
    "time": (at(POD, "metadata.creationTimestamp").format, "date-time"),
    "base64": (at(builtin_schema("", "v1", "Secret"), "data.*").format, "byte"),
    "quantity": (at(POD, "spec.containers.*.resources.limits.*").constraints["oneOf"][1], {"type": "number"}),
    "managed fields": (at(POD, "metadata.managedFields.*.fieldsV1").preserve_unknown, True),
    "name": (at(POD, "spec").name, "io.k8s.api.core.v1.PodSpec"),
    "list of strings in a map": (
        at(builtin_schema("authorization.k8s.io", "v1", "SubjectAccessReview"), "spec.extra.*.*").type,
        "string",
    ),
    "pod template of a job": (
        at(builtin_schema("batch", "v1", "CronJob"), "spec.jobTemplate.spec.template.spec.containers").patch_merge_key,
        "name",
    ),
}


@pytest.mark.parametrize(("found", "expected"), FACTS_OF_FIELDS.values(), ids=FACTS_OF_FIELDS)
def test_a_field_has_its_facts(found: object, expected: object) -> None:
    assert found == expected


def test_a_type_is_built_once_and_shared() -> None:
    deployment = builtin_schema("apps", "v1", "Deployment")
    assert at(deployment, "spec.template.spec") is at(POD, "spec")
    assert builtin_schema("apps", "v1", "Deployment") is deployment


def test_a_type_may_hold_itself() -> None:
    schema = type_schema("apiextensions.v1.JSONSchemaProps")
    assert at(schema, "not") is schema
    assert at(schema, "properties.*") is schema


@needs_facts
def test_every_field_of_every_golden_object_is_known() -> None:
    unknown: list[str] = []
    for path in sorted((FACTS / "golden").glob("*.json")):
        obj = msgspec.json.decode(path.read_bytes())
        if "kind" in obj:
            group, _, version = obj["apiVersion"].rpartition("/")
            _find_unknown(builtin_schema(group, version, obj["kind"]), obj, path.stem, unknown)
    assert unknown == []


def _find_unknown(schema: Schema, value: object, path: str, unknown: list[str]) -> None:
    if isinstance(value, list) and schema.items is not None:
        for each in value:
            _find_unknown(schema.items, each, f"{path}[]", unknown)
    elif isinstance(value, dict) and not schema.preserve_unknown:
        for name, each in value.items():
            member = schema.field(name)
            if member is None:
                unknown.append(f"{path}.{name}")
            else:
                _find_unknown(member, each, f"{path}.{name}", unknown)


def test_the_numbers_of_a_type_are_unique() -> None:
    for name in ("core.v1.PodSpec", "meta.v1.ObjectMeta", "apiextensions.v1.JSONSchemaProps"):
        numbers = [field.number for field in type_named(name).fields]
        assert len(numbers) == len(set(numbers)) > 10
