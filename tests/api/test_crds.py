"""Custom kinds: defined, served, validated, converted."""

from __future__ import annotations

from typing import Any

import pytest

from homeostat.store.base import Key
from tests.api.conftest import MERGE_PATCH, Api
from tests.api.objects import CRDS, WIDGETS, definition, widget
from tests.holds import measured_turns


def schema(**spec: Any) -> dict[str, Any]:
    return {"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object", **spec}}}}


async def test_a_definition_is_established_and_served_at_once(api: Api) -> None:
    answer = await api("POST", CRDS, definition())
    assert answer.status == 201
    conditions = {each["type"]: each["status"] for each in answer.json["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert answer.json["status"]["storedVersions"] == ["v1"]
    resources = (await api("GET", "/apis/example.com/v1")).json["resources"]
    assert [each["name"] for each in resources] == ["widgets", "widgets/status"]
    document = (await api("GET", "/openapi/v3/apis/example.com/v1")).json
    assert "com.example.v1.Widget" in document["components"]["schemas"]
    assert (await api("GET", WIDGETS)).json["kind"] == "WidgetList"


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"metadata": {"name": "wrong.example.com"}}, "metadata.name"),
        ({"spec": {"scope": "Galactic"}}, "spec.scope"),
        ({"spec": {"versions": []}}, "spec.versions"),
        ({"spec": {"group": "Example.com"}}, "spec.group"),
        ({"spec": {"names": {"plural": "Widgets", "kind": "Widget"}}}, "spec.names.plural"),
    ],
)
async def test_an_invalid_definition_names_the_field(api: Api, change: dict[str, Any], field: str) -> None:
    bad = definition()
    for part, values in change.items():
        bad[part] = {**bad[part], **values}
    answer = await api("POST", CRDS, bad)
    assert answer.status == 422
    assert field in [cause["field"] for cause in answer.json["details"]["causes"]]


@pytest.mark.parametrize("spec", [None, 1, [], "x", {"versions": 3}, {"versions": [None]}, {"names": 7}])
async def test_a_malformed_definition_is_no_failure_of_the_server(api: Api, spec: Any) -> None:
    answer = await api("POST", CRDS, {**definition(), "spec": spec})
    assert answer.status in {400, 422}


async def test_objects_are_defaulted_pruned_and_validated(api: Api) -> None:
    await api("POST", CRDS, definition())
    created = await api("POST", WIDGETS, widget(spec={"size": 1, "bogus": True}))
    assert created.json["spec"] == {"size": 1, "color": "red"}
    assert created.headers["warning"] == ['299 - "unknown field \\"spec.bogus\\""']
    strict = await api("POST", WIDGETS, widget("s", {"size": 1, "bogus": True}), fieldValidation="Strict")
    assert (strict.status, strict.json["message"]) == (400, 'strict decoding error: unknown field "spec.bogus"')
    wrong = await api("POST", WIDGETS, widget("x", {"size": "big", "color": "blue"}))
    assert (wrong.status, wrong.reason) == (422, "Invalid")
    assert {cause["field"] for cause in wrong.json["details"]["causes"]} == {"spec.size", "spec.color"}
    missing = await api("POST", WIDGETS, widget("y", {}))
    assert missing.json["details"]["causes"] == [
        {"reason": "FieldValueRequired", "message": "Required value", "field": "spec.size"}
    ]


async def test_unknown_fields_may_be_preserved(api: Api) -> None:
    free = schema(**{"x-kubernetes-preserve-unknown-fields": True})
    await api("POST", CRDS, definition(schema=free))
    created = await api("POST", WIDGETS, widget(spec={"any": {"thing": [1]}}))
    assert created.json["spec"] == {"any": {"thing": [1]}}


async def test_rules_are_kept_on_create_and_between_states(api: Api) -> None:
    rules = [
        {"rule": "self.low <= self.high", "message": "low must not exceed high"},
        {"rule": "self.high >= oldSelf.high", "messageExpression": "'high fell to ' + string(self.high)"},
    ]
    numbers = {"low": {"type": "integer"}, "high": {"type": "integer"}}
    await api("POST", CRDS, definition(schema=schema(properties=numbers, **{"x-kubernetes-validations": rules})))
    refused = await api("POST", WIDGETS, widget(spec={"low": 5, "high": 1}))
    assert refused.status == 422
    assert refused.json["details"]["causes"][0]["message"] == 'Invalid value: "object": low must not exceed high'
    await api("POST", WIDGETS, widget(spec={"low": 1, "high": 5}))
    lowered = await api("PATCH", f"{WIDGETS}/w", {"spec": {"high": 4}}, type=MERGE_PATCH)
    assert (lowered.status, "high fell to 4" in lowered.json["message"]) == (422, True)
    assert (await api("PATCH", f"{WIDGETS}/w", {"spec": {"high": 6}}, type=MERGE_PATCH)).status == 200


async def test_a_rule_that_does_not_compile_refuses_the_definition(api: Api) -> None:
    bad = schema(properties={"a": {"type": "integer"}}, **{"x-kubernetes-validations": [{"rule": "self.b > 1"}]})
    answer = await api("POST", CRDS, definition(schema=bad))
    assert (answer.status, "undefined field 'b'" in answer.json["message"]) == (422, True)


async def test_several_versions_show_the_same_object(api: Api) -> None:
    two = definition()
    two["spec"]["versions"].append({**two["spec"]["versions"][0], "name": "v2", "storage": False})
    await api("POST", CRDS, two)
    await api("POST", WIDGETS, widget())
    newer = (await api("GET", WIDGETS.replace("/v1/", "/v2/") + "/w")).json
    assert (newer["apiVersion"], newer["spec"]["size"]) == ("example.com/v2", 1)
    listed = (await api("GET", WIDGETS.replace("/v1/", "/v2/"))).json
    assert (listed["apiVersion"], listed["items"][0]["apiVersion"]) == ("example.com/v2", "example.com/v2")
    watch = await api.watch(WIDGETS.replace("/v1/", "/v2/"))
    assert (await watch.next())[1]["apiVersion"] == "example.com/v2"
    preferred = (await api("GET", "/apis/example.com")).json["preferredVersion"]
    assert preferred["version"] == "v2"


async def test_the_storage_version_may_move(api: Api) -> None:
    await api("POST", CRDS, definition())
    await api("POST", WIDGETS, widget())
    moved = (await api("GET", f"{CRDS}/widgets.example.com")).json
    first = moved["spec"]["versions"][0]
    moved["spec"]["versions"] = [{**first, "storage": False}, {**first, "name": "v2"}]
    updated = await api("PUT", f"{CRDS}/widgets.example.com", moved)
    assert (updated.status, updated.json["status"]["storedVersions"]) == (200, ["v1", "v2"])
    for version in ("v1", "v2"):
        got = await api("GET", WIDGETS.replace("/v1/", f"/{version}/") + "/w")
        assert (got.status, got.json["apiVersion"]) == (200, f"example.com/{version}")
    key = Key("widgets.example.com", "default", "w")
    stored = [api.plane.store.get(key)]
    await api("PUT", f"{WIDGETS}/w", (await api("GET", f"{WIDGETS}/w")).json)
    stored.append(api.plane.store.get(key))
    assert [each and each.value[:31] for each in stored] == [
        b'{"apiVersion":"example.com/v1",',
        b'{"apiVersion":"example.com/v2",',
    ]


async def test_a_custom_kind_can_be_scaled(api: Api) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.replicas"}
    await api("POST", CRDS, definition(subresources={"status": {}, "scale": scale}))
    await api("POST", WIDGETS, widget())
    answer = await api("PATCH", f"{WIDGETS}/w/scale", {"spec": {"replicas": 4}}, type=MERGE_PATCH)
    assert (answer.status, answer.json["spec"]) == (200, {"replicas": 4})
    assert (await api("GET", f"{WIDGETS}/w")).json["spec"]["size"] == 4


async def test_a_name_that_is_taken_is_not_accepted(api: Api) -> None:
    await api("POST", CRDS, definition())
    other = definition()
    other["metadata"]["name"] = "gadgets.example.com"
    other["spec"]["names"] = {"plural": "gadgets", "kind": "Widget"}
    answer = await api("POST", CRDS, other)
    conditions = {each["type"]: each["status"] for each in answer.json["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "False", "Established": "False"}
    assert (await api("GET", "/apis/example.com/v1/gadgets")).status == 404


async def test_an_established_definition_stays_served_when_it_wants_a_name_that_is_taken(api: Api) -> None:
    wheels = definition()
    wheels["metadata"]["name"] = "wheels.example.com"
    wheels["spec"]["names"] = {"plural": "wheels", "kind": "Wheel", "shortNames": ["wl"]}
    await api("POST", CRDS, wheels)
    first = await api("POST", CRDS, definition())
    await api("POST", WIDGETS, widget())
    wanted = {"shortNames": ["wl", "own"], "singular": "thing"}
    answer = await api("PATCH", f"{CRDS}/widgets.example.com", {"spec": {"names": wanted}}, type=MERGE_PATCH)
    status = answer.json["status"]
    conditions = {each["type"]: each["reason"] for each in status["conditions"]}
    assert conditions == {"NamesAccepted": "ShortNamesConflict", "Established": "InitialNamesAccepted"}
    accepted = {**first.json["status"]["acceptedNames"], "singular": "thing"}
    assert status["acceptedNames"] == accepted
    got = await api("GET", f"{WIDGETS}/w")
    assert (got.status, got.json["kind"]) == (200, "Widget")

    denied = {"status": {"acceptedNames": wanted, "conditions": [{"type": "Established", "status": "False"}]}}
    answer = await api("PATCH", f"{CRDS}/widgets.example.com/status", denied, type=MERGE_PATCH)
    assert answer.json["status"]["acceptedNames"] == accepted
    assert (await api("GET", f"{WIDGETS}/w")).status == 200


async def test_a_condition_without_a_type_keeps_no_definition_from_being_served(api: Api) -> None:
    await api("POST", CRDS, definition())
    odd = {"status": {"conditions": [{"status": "True"}]}}
    assert (await api("PATCH", f"{CRDS}/widgets.example.com/status", odd, type=MERGE_PATCH)).status == 200
    other = definition()
    other["metadata"]["name"] = "gadgets.example.com"
    other["spec"]["names"] = {"plural": "gadgets", "kind": "Gadget"}
    await api("POST", CRDS, other)
    assert (await api("GET", "/apis/example.com/v1/gadgets")).status == 200
    assert (await api("GET", WIDGETS)).status == 200


async def test_cluster_scoped_kinds_have_no_namespace(api: Api) -> None:
    cluster = definition()
    cluster["spec"]["scope"] = "Cluster"
    await api("POST", CRDS, cluster)
    created = await api("POST", "/apis/example.com/v1/widgets", widget())
    assert (created.status, "namespace" in created.json["metadata"]) == (201, False)
    assert (await api("GET", WIDGETS)).status == 404


async def test_a_definition_takes_over_no_built_in_kind(api: Api) -> None:
    approved = {"api-approved.kubernetes.io": "unapproved, for a test"}
    taking = definition()
    taking["metadata"] = {"name": "leases.coordination.k8s.io", "annotations": approved}
    taking["spec"] |= {"group": "coordination.k8s.io", "names": {"plural": "leases", "kind": "Lease"}}
    for version in ("v1", "v9"):
        taking["spec"]["versions"][0]["name"] = version
        created = await api("POST", CRDS, taking)
        conditions = {each["type"]: each["reason"] for each in created.json["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "ListKindConflict", "Established": "NotAccepted"}
        kind = api.plane.app.backend.registry.find("coordination.k8s.io", "v1", "leases")
        assert kind is not None
        assert not kind.custom
        path = f"{CRDS}/leases.coordination.k8s.io"
        await api("PATCH", path, {"metadata": {"finalizers": None}}, type=MERGE_PATCH)
        await api("DELETE", path)
        assert api.plane.app.backend.registry.find("coordination.k8s.io", "v1", "leases") is kind


async def test_a_default_that_was_added_later_shows_wherever_a_stored_object_is_read(api: Api) -> None:
    await api("POST", CRDS, definition())
    await api("POST", WIDGETS, widget("old"))
    later = definition()
    spec = later["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["shape"] = {"type": "string", "default": "round"}
    later["metadata"]["resourceVersion"] = (await api("GET", f"{CRDS}/widgets.example.com")).json["metadata"][
        "resourceVersion"
    ]
    assert (await api("PUT", f"{CRDS}/widgets.example.com", later)).status == 200
    await api("POST", WIDGETS, widget("new"))
    assert (await api("GET", f"{WIDGETS}/old")).json["spec"]["shape"] == "round"
    listed = (await api("GET", WIDGETS)).json["items"]
    assert {each["metadata"]["name"]: each["spec"]["shape"] for each in listed} == {"old": "round", "new": "round"}
    watch = await api.watch(WIDGETS)
    assert (await watch.next())[1]["spec"]["shape"] == "round"
    watch.close()
    patched = await api("PATCH", f"{WIDGETS}/old", {"spec": {"size": 7}}, type=MERGE_PATCH)
    assert patched.json["spec"] == {"size": 7, "color": "red", "shape": "round"}


async def test_a_deprecated_version_warns(api: Api) -> None:
    await api("POST", CRDS, definition(deprecated=True))
    assert (await api("GET", WIDGETS)).headers["warning"] == ['299 - "example.com/v1 Widget is deprecated"']


async def test_a_version_shows_the_fields_that_its_schema_knows(api: Api) -> None:
    made = definition()
    other = {**definition(schema=schema(properties={"size": {"type": "integer"}}))["spec"]["versions"][0]}
    made["spec"]["versions"].append({**other, "name": "v2", "storage": False})
    assert (await api("POST", CRDS, made)).status == 201
    path = WIDGETS.replace("/v1/", "/v2/")
    created = await api("POST", path, {**widget("w"), "apiVersion": "example.com/v2"})
    assert created.json["spec"] == {"size": 1}
    assert (await api("GET", f"{WIDGETS}/w")).json["spec"] == {"size": 1, "color": "red"}
    watch = await api.watch(path)
    assert (await watch.next())[1]["spec"] == {"size": 1}
    await api("PATCH", f"{WIDGETS}/w", {"spec": {"color": "green", "size": 2}}, type=MERGE_PATCH)
    assert (await watch.next())[1]["spec"] == {"size": 2}
    assert [each["spec"] for each in (await api("GET", path)).json["items"]] == [{"size": 2}]
    assert (await api("GET", f"{WIDGETS}/w")).json["spec"] == {"size": 2, "color": "green"}


async def test_a_large_object_that_lacks_a_default_is_completed_beside_the_loop(api: Api) -> None:
    item: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}}}
    listed = {"parts": {"type": "array", "items": item}}
    await api("POST", CRDS, definition(schema=schema(properties=listed)))
    parts = [{"name": f"n{number}"} for number in range(40_000)]
    assert (await api("POST", WIDGETS, widget("large", {"parts": parts}))).status == 201
    item["properties"]["colour"] = {"type": "string", "default": "red"}
    version = (await api("GET", f"{CRDS}/widgets.example.com")).json["metadata"]["resourceVersion"]
    later = definition(schema=schema(properties=listed))
    later["metadata"]["resourceVersion"] = version
    assert (await api("PUT", f"{CRDS}/widgets.example.com", later)).status == 200
    async with measured_turns() as turns:
        got = await api("GET", f"{WIDGETS}/large")
        read = await api("GET", WIDGETS)
    assert got.json["spec"]["parts"][39_999] == {"name": "n39999", "colour": "red"}
    assert read.json["items"][0]["spec"] == got.json["spec"]
    assert turns.longest_s < 0.05
