"""OpenAPI documents are rich enough for kubectl to apply, create, explain and patch."""

from __future__ import annotations

import asyncio
from hashlib import sha256
from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.server.discovery.document import Document
from homeostat.server.discovery.openapi import OpenApi
from homeostat.server.discovery.openapi_schemas import schemas_of
from homeostat.server.kinds.registry import Kind, ScalePaths
from tests.holds import measured_turns
from tests.objects.facts import FACTS, needs_facts

GVK = "x-kubernetes-group-version-kind"
SCHEMA: JsonObject = {
    "type": "object",
    "description": "A widget.",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {"size": {"type": "integer", "default": 3, "description": "How big."}},
        },
        "metadata": {"type": "object", "properties": {"name": {"maxLength": 5}}},
    },
}
POD = Kind("", "v1", "Pod", "pods", namespaced=True, list_kind="PodList", has_status=True)
NAMESPACE = Kind("", "v1", "Namespace", "namespaces", namespaced=False, list_kind="NamespaceList")
DEPLOYMENT = Kind("apps", "v1", "Deployment", "deployments", namespaced=True, has_status=True, scale=ScalePaths())
REVIEW = Kind("authorization.k8s.io", "v1", "SubjectAccessReview", "subjectaccessreviews", False, verbs=("create",))
WIDGET = Kind(
    "example.com",
    "v1",
    "Widget",
    "widgets",
    namespaced=True,
    list_kind="WidgetList",
    has_status=True,
    custom=True,
    raw_schema=SCHEMA,
)
KINDS = [POD, NAMESPACE, DEPLOYMENT, REVIEW, WIDGET]
PATHS = ["api/v1", "apis/apps/v1", "apis/authorization.k8s.io/v1", "apis/example.com/v1"]


@pytest.fixture(scope="module")
def openapi() -> OpenApi:
    return OpenApi(KINDS)


def document_of(openapi: OpenApi, path: str) -> Document | None:
    return asyncio.run(openapi.document(path))


def hashes_of(openapi: OpenApi) -> dict[str, str]:
    index = msgspec.json.decode(asyncio.run(openapi.index()).body)["paths"]
    return {path: each["serverRelativeURL"].partition("?hash=")[2] for path, each in index.items()}


def read(openapi: OpenApi, path: str) -> Any:
    document = document_of(openapi, path)
    assert document is not None
    return msgspec.json.decode(document.body)


def test_the_index_names_every_document_with_a_hash(openapi: OpenApi) -> None:
    found = msgspec.json.decode(asyncio.run(openapi.index()).body)["paths"]
    assert list(found) == PATHS
    for path in PATHS:
        address, _, mark = found[path]["serverRelativeURL"].partition("?hash=")
        assert address == f"/openapi/v3/{path}"
        assert document_of(OpenApi(KINDS), path).etag == f'"{mark}"'  # type: ignore[union-attr]


def test_what_is_not_served_has_no_document(openapi: OpenApi) -> None:
    assert document_of(openapi, "apis/nothing/v1") is None


@pytest.mark.parametrize("path", PATHS)
def test_every_reference_leads_somewhere(openapi: OpenApi, path: str) -> None:
    document = read(openapi, path)
    known = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(_references(document)) <= known


def _references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [found for each in value for found in _references(each)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [found for each in value.values() for found in _references(each)]


@pytest.mark.parametrize(
    ("path", "address", "is_strategic"),
    [
        ("api/v1", "/api/v1/namespaces/{namespace}/pods/{name}", True),
        ("api/v1", "/api/v1/namespaces/{name}", True),
        ("apis/apps/v1", "/apis/apps/v1/namespaces/{namespace}/deployments/{name}", True),
        ("apis/example.com/v1", "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}", False),
    ],
)
def test_a_patch_describes_what_kubectl_needs(openapi: OpenApi, path: str, address: str, is_strategic: bool) -> None:
    patch = read(openapi, path)["paths"][address]["patch"]
    assert patch[GVK].keys() == {"group", "version", "kind"}
    names = {each["name"] for each in patch["parameters"] if each["in"] == "query"}
    assert {"fieldValidation", "dryRun", "fieldManager", "force"} <= names
    types = patch["requestBody"]["content"].keys()
    assert {"application/apply-patch+yaml", "application/merge-patch+json", "application/json-patch+json"} <= types
    assert ("application/strategic-merge-patch+json" in types) is is_strategic


def test_a_namespaced_kind_can_be_listed_everywhere(openapi: OpenApi) -> None:
    paths = read(openapi, "api/v1")["paths"]
    assert set(paths["/api/v1/pods"]) == {"get", "parameters"}
    assert set(paths["/api/v1/namespaces"]) == {"get", "post", "delete", "parameters"}
    assert paths["/api/v1/namespaces/{namespace}/pods"]["parameters"][0]["name"] == "namespace"


def test_scale_is_a_kind_of_another_group(openapi: OpenApi) -> None:
    document = read(openapi, "apis/apps/v1")
    scale = document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale"]
    assert scale["patch"][GVK] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert "io.k8s.api.autoscaling.v1.Scale" in document["components"]["schemas"]


def test_a_review_has_only_a_post(openapi: OpenApi) -> None:
    paths = read(openapi, "apis/authorization.k8s.io/v1")["paths"]
    assert set(paths["/apis/authorization.k8s.io/v1/subjectaccessreviews"]) == {"post", "parameters"}
    assert "/apis/authorization.k8s.io/v1/subjectaccessreviews/{name}" not in paths


def test_operations_have_names_of_their_own(openapi: OpenApi) -> None:
    for path in PATHS:
        methods = [each for item in read(openapi, path)["paths"].values() for each in item.values()]
        names = [each["operationId"] for each in methods if isinstance(each, dict)]
        assert len(names) == len(set(names))


def test_components_carry_what_a_strategic_merge_needs(openapi: OpenApi) -> None:
    containers = read(openapi, "api/v1")["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"][
        "containers"
    ]
    assert containers == {
        "description": "The containers; at least one.",
        "type": "array",
        "items": {"allOf": [{"$ref": "#/components/schemas/io.k8s.api.core.v1.Container"}], "default": {}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["name"],
        "x-kubernetes-patch-strategy": "merge",
        "x-kubernetes-patch-merge-key": "name",
    }


def test_a_custom_kind_keeps_its_own_words(openapi: OpenApi) -> None:
    schemas = read(openapi, "apis/example.com/v1")["components"]["schemas"]
    widget = schemas["com.example.v1.Widget"]
    assert widget["description"] == "A widget."
    assert widget["properties"]["spec"] == SCHEMA["properties"]["spec"]
    assert widget["properties"]["metadata"]["allOf"] == [
        {"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}
    ]
    assert widget[GVK] == [{"group": "example.com", "version": "v1", "kind": "Widget"}]
    assert schemas["com.example.v1.WidgetList"][GVK][0]["kind"] == "WidgetList"


def test_a_definition_is_not_changed_by_being_published(openapi: OpenApi) -> None:
    read(openapi, "apis/example.com/v1")
    assert set(SCHEMA) == {"type", "description", "properties"}
    assert set(SCHEMA["properties"]) == {"spec", "metadata"}


def test_only_what_changed_gets_another_hash() -> None:
    openapi = OpenApi(KINDS)
    before = hashes_of(openapi)
    kept = document_of(openapi, "api/v1")
    changed = Kind(
        "example.com", "v1", "Widget", "widgets", namespaced=True, custom=True, raw_schema={"type": "object"}
    )
    openapi.update([*KINDS[:-1], changed])
    assert document_of(openapi, "api/v1") is kept
    after = hashes_of(openapi)
    assert [path for path in PATHS if after[path] != before[path]] == ["apis/example.com/v1"]
    openapi.update(KINDS[:-1])
    assert document_of(openapi, "apis/example.com/v1") is None


def test_the_same_definition_again_keeps_its_hash() -> None:
    again = Kind(
        "example.com",
        "v1",
        "Widget",
        "widgets",
        True,
        list_kind="WidgetList",
        has_status=True,
        custom=True,
        raw_schema=SCHEMA,
    )
    assert hashes_of(OpenApi([again])) == hashes_of(OpenApi([WIDGET]))


def test_documents_look_as_they_did_until_their_form_is_raised(openapi: OpenApi) -> None:
    # Clients keep a document for as long as its hash stays. If this fails, raise `_FORM` and put the new value here.
    bodies = [document_of(openapi, path).body for path in PATHS]  # type: ignore[union-attr]
    assert sha256(b"".join(bodies)).hexdigest()[:16] == "fabd6187f14e1b3e"


async def test_version_two_is_one_document_of_all_groups(openapi: OpenApi) -> None:
    document = msgspec.json.decode((await openapi.whole("json")).body)
    assert (document["swagger"], document["security"]) == ("2.0", [{"BearerToken": []}])
    patch = document["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]["patch"]
    assert [each["name"] for each in patch["parameters"]] == [
        "body",
        "dryRun",
        "fieldManager",
        "fieldValidation",
        "force",
    ]
    assert patch["responses"]["200"]["schema"] == {"$ref": "#/definitions/com.example.v1.Widget"}
    assert document["definitions"]["io.k8s.api.core.v1.Pod"]["properties"]["spec"] == {
        "$ref": "#/definitions/io.k8s.api.core.v1.PodSpec",
        "description": "What is wanted.",
    }


async def test_version_two_keeps_the_pieces_of_kinds_that_did_not_change(openapi: OpenApi) -> None:
    first = await openapi.whole("json")
    assert await openapi.whole("json") is first
    openapi.update([POD, DEPLOYMENT])
    found = msgspec.json.decode((await openapi.whole("json")).body)
    assert not any("example.com" in path for path in found["paths"])
    assert "io.k8s.api.apps.v1.Deployment" in found["definitions"]


@needs_facts
def test_components_are_those_of_kubernetes_without_descriptions() -> None:
    served = [POD, DEPLOYMENT, REVIEW, Kind("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "crds", False)]
    ours = schemas_of(served)
    differing = []
    for path in sorted((FACTS / "openapi").glob("*.json")):
        for name, schema in msgspec.json.decode(path.read_bytes())["components"]["schemas"].items():
            if name in ours and _comparable(schema) != _comparable(ours[name]):
                differing.append(name)
    assert differing == []


def _comparable(schema: Any, *, is_properties: bool = False) -> Any:
    """Without what people read; one reference in `allOf` is that reference; order of required names does not matter."""
    if isinstance(schema, list):
        return [_comparable(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if not is_properties:
        schema = {key: each for key, each in schema.items() if key not in ("description", "x-kubernetes-unions", GVK)}
        if set(schema) == {"allOf"}:
            return schema["allOf"][0]
    found: JsonObject = {
        key: _comparable(each, is_properties=key == "properties" and not is_properties) for key, each in schema.items()
    }
    if isinstance(found.get("required"), list):
        found["required"] = sorted(found["required"])
    return found if found.get("properties") != {} else {key: each for key, each in found.items() if key != "properties"}


async def test_the_documents_of_many_kinds_are_made_beside_the_event_loop() -> None:
    schema = {"type": "object", "properties": {f"p{at}": {"type": "string"} for at in range(2_000)}}
    kinds = [
        Kind("example.com", "v1", f"K{at}", f"k{at}", namespaced=True, custom=True, raw_schema=schema)
        for at in range(100)
    ]
    openapi = OpenApi(kinds)
    async with measured_turns() as turns:
        await openapi.index()
        document = await openapi.document("apis/example.com/v1")
    assert document is not None
    assert turns.longest_s < 0.05, "on the loop it would take 0.2 s or more"
