"""OpenAPI says of built-in and custom kinds what a real kube-apiserver says, descriptions aside."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.differential.compare import Conversation
from tests.differential.step import CRDS, Step, api

pytestmark = pytest.mark.cluster

_GROUP = "papers.example.org"
_SPEC = {
    "type": "object",
    "required": ["text", "none"],
    "properties": {
        "text": {"type": "string", "default": "x", "enum": ["x", "y"], "pattern": "^.$", "maxLength": 3},
        "none": {"type": "string", "nullable": True},
        "list": {
            "type": "array",
            "items": {"type": "object", "properties": {"key": {"type": "string"}}, "required": ["key"]},
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
        },
        "port": {"x-kubernetes-int-or-string": True},
        "any": {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "properties": {"z": {"type": "string"}},
        },
        "loose": {"type": "array", "items": {"type": "object"}, "x-kubernetes-preserve-unknown-fields": True},
        "inner": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "x-kubernetes-preserve-unknown-fields": True,
        },
        "typed": {
            "type": "object",
            "x-kubernetes-embedded-resource": True,
            "properties": {"spec": {"type": "string"}},
        },
        "map": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1, "maximum": 5}},
        "ruled": {
            "type": "integer",
            "anyOf": [{"minimum": 1}, {"maximum": 0}],
            "x-kubernetes-validations": [{"rule": "self > 0"}],
        },
    },
}


def _definition(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    plural = f"{kind.lower()}s"
    return api(
        "CustomResourceDefinition",
        "apiextensions.k8s.io/v1",
        f"{plural}.{_GROUP}",
        spec={
            "group": _GROUP,
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    )


_KINDS: dict[str, dict[str, Any]] = {
    "Paper": {"type": "object", "required": ["spec"], "properties": {"spec": _SPEC}},
    "Loose": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


@pytest.fixture(scope="module")
def papers(ours: Conversation, real: Conversation) -> str:
    for kind, schema in _KINDS.items():
        for server in (ours, real):
            assert server.say(Step(kind, "POST", CRDS, _definition(kind, schema))).status == 201
    return ".".join([*reversed(_GROUP.split(".")), "v1"])


def _definitions(server: Conversation, path: str, wanted: set[str]) -> dict[str, Any]:
    """Once all of them are published: the real server does so a little later."""
    deadline = time.monotonic() + 30
    while True:
        answer = server.say(Step("openapi", "GET", path))
        body = answer.body if answer.status == 200 else {}
        found = body.get("definitions") or body.get("components", {}).get("schemas", {})
        if wanted <= set(found):
            return dict(found)
        assert time.monotonic() < deadline, f"{path} lacks {wanted - set(found)}"
        time.sleep(0.2)


@pytest.mark.parametrize("path", ["/openapi/v2", f"/openapi/v3/apis/{_GROUP}/v1"])
def test_custom_kinds_are_published_alike(ours: Conversation, real: Conversation, papers: str, path: str) -> None:
    names = {f"{papers}.{kind}{end}" for kind in _KINDS for end in ("", "List")}
    mine, theirs = (_definitions(server, path, names) for server in (ours, real))
    assert {name: _comparable(mine[name]) for name in names} == {name: _comparable(theirs[name]) for name in names}


def test_built_in_kinds_are_published_alike_in_version_2(ours: Conversation, real: Conversation) -> None:
    mine, theirs = (_definitions(server, "/openapi/v2", set()) for server in (ours, real))
    shared = [name for name in mine if name in theirs and name.startswith("io.k8s.")]
    assert len(shared) > 400
    differing = {name for name in shared if _builtin(mine[name]) != _builtin(theirs[name])}
    # Belongs to every group that the real server knows.
    assert differing == {"io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"}


def _builtin(schema: Any) -> Any:
    """Enumerations and unions are not in the table of types."""
    found = _comparable(schema)
    for each in (found.get("properties") or {}).values():
        for part in (each, each.get("items") or {}, each.get("additionalProperties") or {}):
            part.pop("enum", None)
    found.pop("x-kubernetes-unions", None)
    return found


def _comparable(schema: Any) -> Any:
    """Without texts for people; the order of required names does not matter."""
    if isinstance(schema, list):
        return [_comparable(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    texts = {name for name in ("description", "title") if isinstance(schema.get(name), str)}
    found = {name: _comparable(value) for name, value in schema.items() if name not in texts}
    if isinstance(found.get("required"), list):
        found["required"] = sorted(found["required"])
    return found
