"""Protobuf bodies become the JSON that Go would have written."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.errors import ApiError, BadRequestError, TooLargeError, UnsupportedMediaTypeError
from homeostat.objects.json import JsonObject
from homeostat.objects.wire.protobuf import MAX_BYTES, decode
from homeostat.objects.wire.type_table import Field, kind_named, type_named
from tests.examples import examples
from tests.objects.facts import FACTS, needs_facts
from tests.objects.wire.pairs import chunk, envelope, sealed, tag, varint

GOLDEN = sorted(path.stem for path in (FACTS / "golden").glob("*.pb")) if FACTS.is_dir() else []


@needs_facts
@pytest.mark.parametrize("name", [each for each in GOLDEN if each != "core.v1.WatchEvent"])
def test_a_golden_object_decodes_to_its_json(name: str) -> None:
    # A WatchEvent has no kind of its own and is never sent to a server.
    golden = FACTS / "golden"
    expected = msgspec.json.decode((golden / f"{name}.json").read_bytes())
    assert decode((golden / f"{name}.pb").read_bytes()) == expected


CONFIG_MAP = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "cm", "labels": {"a": "b", "": ""}},
    "data": {"k": "v"},
    "binaryData": {"x": "AAE="},
}
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "creationTimestamp": "2024-02-29T12:00:00Z"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": -1}},
        "template": {
            "metadata": {},
            "spec": {
                "containers": [
                    {
                        "name": "c",
                        "resources": {"limits": {"cpu": "500m"}},
                        "env": [
                            {"name": "S", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k", "optional": False}}}
                        ],
                        "livenessProbe": {"httpGet": {"port": "http"}, "periodSeconds": 5},
                    }
                ],
                "volumes": [{"name": "v", "emptyDir": {}}],
                "securityContext": {"supplementalGroups": [1, 1 << 40]},
            },
        },
    },
    "status": {},
}
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "names": {"plural": "widgets", "kind": "Widget"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": False,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "n": {"maximum": 2.5, "minimum": 3, "default": {"x": [1, None]}, "$ref": "#/x"},
                            "l": {"items": {"type": "string"}, "x-kubernetes-list-type": "set"},
                            "m": {"additionalProperties": True},
                            "o": {"additionalProperties": {"type": "string"}},
                            "p": {"additionalProperties": False, "items": [{"type": "string"}]},
                            "q": {"dependencies": {"a": ["b"], "c": {"type": "string"}}, "enum": ["a", 1, None]},
                        },
                    }
                },
            }
        ],
    },
    "status": {
        "conditions": None,
        "acceptedNames": {"plural": "", "kind": ""},
        "storedVersions": None,
    },
}
LEASE = {
    "apiVersion": "coordination.k8s.io/v1",
    "kind": "Lease",
    "metadata": {
        "managedFields": [{"manager": "m", "time": "1969-12-31T23:59:59Z", "fieldsV1": {"f:spec": {}}}],
        "resourceVersion": "7",
    },
    "spec": {"leaseDurationSeconds": 0, "renewTime": "2024-01-01T00:00:00.000001Z", "holderIdentity": ""},
}
REVIEW = {
    "apiVersion": "authorization.k8s.io/v1",
    "kind": "SubjectAccessReview",
    "metadata": {},
    "spec": {"user": "ann", "extra": {"scopes": ["a", "b"], "none": []}},
    "status": {"allowed": False},
}
DELETE_OPTIONS = {
    "apiVersion": "example.com/v1",
    "kind": "DeleteOptions",
    "gracePeriodSeconds": 0,
    "preconditions": {"uid": "u"},
    "dryRun": ["All"],
}
LIST = {
    "apiVersion": "v1",
    "kind": "List",
    "metadata": {},
    "items": [{"apiVersion": "v1", "kind": "Thing", "deep": [1.5]}],
}
SCALE = {
    "apiVersion": "autoscaling/v1",
    "kind": "Scale",
    "metadata": {"name": "web"},
    "spec": {"replicas": 3},
    "status": {"replicas": 0},
}


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    return value


@pytest.mark.parametrize(
    "obj",
    [CONFIG_MAP, DEPLOYMENT, LEASE, REVIEW, DELETE_OPTIONS, LIST, SCALE, DEFINITION],
    ids=lambda obj: str(obj["kind"]),
)
def test_an_object_decodes_to_what_was_encoded(obj: JsonObject) -> None:
    assert decode(envelope(obj)) == _without_nulls(obj)


KINDS = [
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "EventList"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "CronJob"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("autoscaling/v1", "HorizontalPodAutoscaler"),
    ("certificates.k8s.io/v1", "CertificateSigningRequest"),
    ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ("v1", "Status"),
]
_LEAVES: dict[str, list[Any]] = {
    "string": ["", "a", "ü€", "two words"],
    "bool": [False, True],
    "int32": [0, 1, 128, -1, -(1 << 31), (1 << 31) - 1],
    "int64": [0, 1, 300, -1, -(1 << 63), (1 << 63) - 1],
    "double": [0, 3, -7, 0.5],
    "bytes": ["", "AA==", "/+8="],
    "time": ["0001-01-01T00:00:01Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"],
    "microtime": ["2001-01-01T00:00:00.000010Z", "1969-01-01T00:00:00.999999Z"],
    "quantity": ["0", "1500m", "2Gi"],
    "intorstring": [0, 80, -5, "", "http"],
    "raw": [{"kind": "X"}],
    "json": [{"a": [1]}, "text", 0, False],
    "fields": [{"f:a": {}}],
    "strings": [[], ["a", ""]],
    "schemaorbool": [False, True, {"type": "string"}],
    "schemaorarray": [{"type": "string"}, [{"type": "string"}]],
    "schemaorstrings": [["a"], {"type": "string"}],
}
_OMITTED_WHEN_ZERO = {"string", "bool", "int32", "int64", "bytes"}


def _object(chance: Random, type_name: str, depth: int = 0) -> JsonObject:
    """An object as Go writes one: values that are no pointers are always there, but for zeros that it omits."""
    obj: JsonObject = {}
    for field in type_named(type_name).fields:
        if not field.name:
            obj |= _object(chance, field.type, depth)
        elif _is_always_there(field) or (depth < 7 and chance.random() < 0.3):
            value = _value(chance, field, depth + 1)
            if value or field.shape or field.presence != "o" or field.type not in _OMITTED_WHEN_ZERO:
                obj[field.name] = value
    return obj


def _is_always_there(field: Field) -> bool:
    if field.shape or field.presence == "p":
        return False
    if field.type in _OMITTED_WHEN_ZERO:
        return field.presence == "a" and field.type != "bytes"
    return not field.is_leaf or field.type in ("intorstring", "quantity")


def _value(chance: Random, field: Field, depth: int) -> Any:
    def one() -> Any:
        return chance.choice(_LEAVES[field.type]) if field.is_leaf else _object(chance, field.type, depth)

    if field.shape == "[]":
        return [one() for _ in range(chance.randint(1, 3))]
    return {key: one() for key in chance.sample(["a", "b", ""], 2)} if field.shape else one()


@pytest.mark.parametrize(("api_version", "kind"), KINDS, ids=str)
@examples(20, derandomize=True)
@given(seed=st.integers(0, 1 << 32))
def test_any_object_decodes_to_what_was_encoded(api_version: str, kind: str, seed: int) -> None:
    group, _, version = api_version.rpartition("/")
    name = kind_named(group, version, kind)
    assert name is not None
    obj = {"apiVersion": api_version, "kind": kind, **_object(Random(seed), name)}
    assert decode(envelope(obj)) == obj


def test_zero_values_that_json_omits_are_dropped() -> None:
    sent = envelope({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": {}, "status": {}})
    assert b"s" in sent
    assert decode(sent) == {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "s"},
        "spec": {},
        "status": {"loadBalancer": {}},
    }


def test_an_unknown_field_is_skipped() -> None:
    raw = chunk(1, chunk(1, b"n")) + chunk(900, b"x") + tag(901, 0) + varint(5) + tag(902, 1) + bytes(8)
    assert decode(sealed("v1", "Namespace", raw + tag(903, 5) + bytes(4))) == {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": "n"},
    }


def test_numbers_may_come_packed() -> None:
    raw = chunk(2, chunk(14, chunk(4, varint(7) + varint(300))))
    pod = decode(sealed("v1", "Pod", raw))
    assert pod["spec"]["securityContext"]["supplementalGroups"] == [7, 300]


def test_an_embedded_object_may_be_an_envelope_of_its_own() -> None:
    inner = envelope({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}, "spec": {}, "status": {}})
    found = decode(sealed("v1", "List", chunk(2, chunk(1, inner))))
    assert found["items"][0]["metadata"] == {"name": "n"}


@pytest.mark.parametrize(
    ("api_version", "kind"),
    [("example.com/v1", "Widget"), ("v1", "PodSpec"), ("apps/v1beta1", "Deployment"), ("", ""), ("../../v1", "Pod")],
)
def test_a_kind_that_is_not_built_in_is_unsupported_by_name(api_version: str, kind: str) -> None:
    with pytest.raises(UnsupportedMediaTypeError, match=f'"{kind}"'):
        decode(sealed(api_version, kind, b""))


def _nested(levels: int) -> bytes:
    schema = b""
    for _ in range(levels):
        schema = chunk(28, schema)
    version = chunk(1, b"v1") + chunk(4, chunk(1, schema))
    return sealed("apiextensions.k8s.io/v1", "CustomResourceDefinition", chunk(2, chunk(7, version)))


MALFORMED = {
    "no magic": b'{"kind":"Pod"}',
    "empty": b"",
    "magic alone cut": b"k8s",
    "truncated length": b"k8s\0\n\xff",
    "longer than the body": sealed("v1", "Namespace", b"\n\x7f"),
    "longer than its parent": sealed("v1", "Namespace", chunk(1, b"\n\x05ab") + b"abcdef"),
    "wrong wire type": sealed("v1", "Namespace", tag(1, 0) + b"\x01"),
    "a group": sealed("v1", "Namespace", tag(99, 3)),
    "field zero": sealed("v1", "Namespace", b"\x02\x00"),
    "endless number": sealed("v1", "Namespace", b"\xff" * 12),
    "not UTF-8": sealed("v1", "Namespace", chunk(1, chunk(1, b"\xff\xfe"))),
    "a time without end": sealed("v1", "Namespace", chunk(1, chunk(8, tag(1, 0) + varint(1 << 60)))),
    "infinity": sealed(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        chunk(2, chunk(7, chunk(4, chunk(1, tag(9, 1) + b"\0\0\0\0\0\0\xf0\x7f")))),
    ),
    "embedded nonsense": sealed("v1", "List", chunk(2, chunk(1, b"{nonsense"))),
    "nested too deeply": _nested(200),
    "a numeric envelope": b"k8s\0" + tag(1, 0) + b"\x01",
}


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
def test_malformed_bytes_are_a_bad_request(body: bytes) -> None:
    with pytest.raises(BadRequestError):
        decode(body)


def test_a_schema_nested_as_deep_as_real_ones_is_read() -> None:
    assert decode(_nested(60))["kind"] == "CustomResourceDefinition"


def test_a_body_over_the_limit_is_too_large() -> None:
    with pytest.raises(TooLargeError):
        decode(b"k8s\0" + bytes(MAX_BYTES))


@examples(300, derandomize=True)
@given(cut=st.integers(0, 400), place=st.integers(4, 400), byte=st.integers(0, 255))
def test_no_damage_to_a_body_gives_anything_but_an_object_or_an_api_error(cut: int, place: int, byte: int) -> None:
    body = bytearray(envelope(DEPLOYMENT))
    body[place % len(body)] = byte
    assert _outcome(bytes(body[: len(body) - cut])) in (200, 400, 415)


def _outcome(body: bytes) -> int:
    try:
        decode(body)
    except ApiError as error:
        return error.code
    return 200
