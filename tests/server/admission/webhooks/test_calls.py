from __future__ import annotations

import asyncio
import base64
import ssl
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from homeostat.edge.reply import Reply
from homeostat.plane import Plane, Settings, open_plane
from homeostat.server.access.user import User
from homeostat.server.view.encode import draft_of, object_of
from homeostat.store.base import Put, Scope
from tests.api.conftest import Api
from tests.api.objects import CONFIGMAPS, CRDS, DEPLOYMENTS, configmap, definition, widget
from tests.holds import measured_turns
from tests.server.admission.hooks import (
    CONFIGMAP_RULE,
    MUTATING,
    VALIDATING,
    Hooks,
    allow,
    configuration,
    deny,
    patch,
    set_data,
)

JSON = "application/json"
ALL = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}


async def configure(api: Api, path: str, *webhooks: dict[str, Any], name: str = "hooks") -> None:
    answer = await api("POST", path, configuration(*webhooks, name=name), type=JSON)
    assert answer.status == 201, answer.json


async def create(api: Api, obj: dict[str, Any] | None = None, **query: Any) -> Any:
    return await api("POST", CONFIGMAPS, obj or configmap(), type=JSON, **query)


async def test_a_review_describes_the_whole_write(api: Api, hooks: Hooks) -> None:
    await configure(api, VALIDATING, hooks.webhook("/v", timeoutSeconds=7))
    user = User("ada", groups=("dev", "system:masters"), extra={"team": ("a",)})
    answer = await api("POST", CONFIGMAPS, configmap(), type=JSON, user=user, fieldManager="me")
    assert answer.status == 201
    ((_, request),) = hooks.seen
    assert request.pop("uid")
    created = request.pop("object")
    assert (created["metadata"]["name"], created["data"]) == ("a", {"x": "1"})
    assert request == {
        "kind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "resource": {"group": "", "version": "v1", "resource": "configmaps"},
        "requestKind": {"group": "", "version": "v1", "kind": "ConfigMap"},
        "requestResource": {"group": "", "version": "v1", "resource": "configmaps"},
        "name": "a",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {"username": "ada", "groups": ["dev", "system:masters"], "extra": {"team": ["a"]}},
        "oldObject": None,
        "dryRun": False,
        "options": {
            "kind": "CreateOptions",
            "apiVersion": "meta.k8s.io/v1",
            "fieldManager": "me",
        },
    }
    assert hooks.raw[0].query == "timeout=7s"
    assert hooks.raw[0].headers["content-type"] == JSON


async def test_an_update_shows_the_old_object_and_a_delete_nothing_else(api: Api, hooks: Hooks) -> None:
    await create(api)
    await configure(api, VALIDATING, hooks.webhook("/v", rules=[{**CONFIGMAP_RULE, "operations": ["*"]}]))
    await configure(api, MUTATING, hooks.webhook("/m", rules=[{**CONFIGMAP_RULE, "operations": ["DELETE"]}]))
    await api("PATCH", f"{CONFIGMAPS}/a", {"data": {"x": "2"}}, type="application/merge-patch+json")
    options = {"propagationPolicy": "Foreground"}
    await api("DELETE", f"{CONFIGMAPS}/a", options, type=JSON)
    (_, update), (mutating, _), (_, delete) = hooks.seen
    assert (update["object"]["data"], update["oldObject"]["data"]) == ({"x": "2"}, {"x": "1"})
    assert update["options"]["kind"] == "UpdateOptions"
    assert mutating == "/m"
    assert (delete["operation"], delete["object"]) == ("DELETE", None)
    assert delete["oldObject"]["data"] == {"x": "2"}
    assert delete["options"] == {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **options}


@pytest.mark.parametrize("path", [MUTATING, VALIDATING], ids=["mutating", "validating"])
async def test_a_refused_write_is_not_stored(api: Api, hooks: Hooks, path: str) -> None:
    await configure(api, path, hooks.webhook("/v", deny("no tabs", code=403, reason="Forbidden")))
    refused = await create(api)
    assert (refused.status, refused.reason) == (403, "Forbidden")
    assert refused.json["message"] == 'admission webhook "v.hooks.example.com" denied the request: no tabs'
    assert (await api("GET", f"{CONFIGMAPS}/a")).status == 404


async def test_causes_of_a_refusal_reach_the_client(api: Api, hooks: Hooks) -> None:
    details = {"kind": "configmaps", "causes": [{"reason": "FieldValueInvalid", "message": "m", "field": "data.x"}]}
    await configure(api, VALIDATING, hooks.webhook("/v", deny("no", code=422, reason="Invalid", details=details)))
    assert (await create(api)).json["details"] == details


async def test_mutating_webhooks_see_what_those_before_them_made(api: Api, hooks: Hooks) -> None:
    await configure(api, MUTATING, hooks.webhook("/second", set_data("b", "2")), name="z")
    await configure(api, MUTATING, hooks.webhook("/first", set_data("a", "1")), hooks.webhook("/next", allow), name="a")
    made = await create(api)
    assert made.json["data"] == {"x": "1", "a": "1", "b": "2"}
    assert hooks.paths == ["/first", "/next", "/second"]
    assert hooks.seen[2][1]["object"]["data"] == {"x": "1", "a": "1"}
    assert (await api("GET", f"{CONFIGMAPS}/a")).json["data"] == made.json["data"]


async def test_a_webhook_cannot_change_what_the_server_owns(api: Api, hooks: Hooks) -> None:
    forged = patch(
        {"op": "add", "path": "/metadata/uid", "value": "forged"},
        {"op": "add", "path": "/metadata/generation", "value": 99},
        {"op": "add", "path": "/metadata/deletionTimestamp", "value": "2020-01-01T00:00:00Z"},
        {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
    )
    await configure(api, MUTATING, hooks.webhook("/m", forged))
    metadata = (await create(api)).json["metadata"]
    assert metadata["labels"] == {"a": "b"}
    assert metadata["uid"] != "forged"
    assert not {"generation", "deletionTimestamp"} & set(metadata)
    answer = await api("PUT", f"{CONFIGMAPS}/a", configmap(), type=JSON)
    assert (answer.status, answer.json["details"]["causes"][0]["field"]) == (422, "metadata.deletionTimestamp")


async def test_a_webhooks_change_counts_as_one_of_the_spec(api: Api, hooks: Hooks) -> None:
    await api("POST", CRDS, definition(), type=JSON)
    widgets = "/apis/example.com/v1/namespaces/default/widgets"
    await api("POST", widgets, widget(), type=JSON)
    rule = {"operations": ["UPDATE"], "apiGroups": ["example.com"], "apiVersions": ["v1"], "resources": ["widgets"]}
    grow = patch(
        {"op": "replace", "path": "/spec/size", "value": 5},
        {"op": "remove", "path": "/spec/color"},
        {"op": "add", "path": "/spec/unknown", "value": 1},
    )
    await configure(api, MUTATING, hooks.webhook("/m", grow, rules=[rule]))
    made = await api("PATCH", f"{widgets}/w", {"metadata": {"labels": {"a": "b"}}}, type="application/merge-patch+json")
    assert made.json["metadata"]["generation"] == 2
    assert made.json["spec"] == {"size": 5, "color": "red"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (patch({"op": "replace", "path": "/nowhere/x", "value": 1}), "does not exist"),
        (patch({"op": "replace", "path": "/data", "value": [1]}), "data"),
        (patch({"op": "replace", "path": "/kind", "value": "Secret"}), "apiVersion or kind"),
        (patch({"op": "replace", "path": "", "value": []}), "not an object"),
    ],
    ids=["nowhere", "type", "kind", "document"],
)
async def test_a_patch_that_breaks_the_object_fails_the_write(api: Api, hooks: Hooks, answer: Any, told: str) -> None:
    await configure(api, MUTATING, hooks.webhook("/m", answer, failurePolicy="Ignore"))
    refused = await create(api)
    assert refused.status == 500
    assert told in refused.json["message"]


async def test_a_webhook_is_asked_again_if_a_later_one_changed_the_object(api: Api, hooks: Hooks) -> None:
    await configure(
        api,
        MUTATING,
        hooks.webhook("/again", set_data("a", "1"), reinvocationPolicy="IfNeeded"),
        hooks.webhook("/once", set_data("b", "1")),
        hooks.webhook("/last", set_data("c", "1"), reinvocationPolicy="IfNeeded"),
    )
    await create(api)
    assert hooks.paths == ["/again", "/once", "/last", "/again"]
    assert hooks.seen[3][1]["object"]["data"] == {"x": "1", "a": "1", "b": "1", "c": "1"}


async def test_nobody_is_asked_again_if_nothing_changed(api: Api, hooks: Hooks) -> None:
    again: dict[str, Any] = {"reinvocationPolicy": "IfNeeded"}
    await configure(api, MUTATING, hooks.webhook("/a", **again), hooks.webhook("/b", set_data("x", "1"), **again))
    await create(api)
    assert hooks.paths == ["/a", "/b"]


async def test_validating_webhooks_are_asked_at_once(api: Api, hooks: Hooks) -> None:
    hooks.at_once = asyncio.Barrier(5)
    await configure(api, VALIDATING, *(hooks.webhook(f"/v{n}", deny(f"no {n}")) for n in range(5)))
    refused = await create(api)
    assert "no 0" in refused.json["message"]
    assert len(hooks.seen) == 5


async def test_a_validating_webhook_sees_the_mutated_object(api: Api, hooks: Hooks) -> None:
    await configure(api, MUTATING, hooks.webhook("/m", set_data("a", "1")))
    await configure(api, VALIDATING, hooks.webhook("/v"))
    await create(api)
    assert hooks.seen[1][1]["object"]["data"] == {"x": "1", "a": "1"}


async def test_warnings_of_webhooks_reach_the_client_once(api: Api, hooks: Hooks) -> None:
    def warn(_: dict[str, Any]) -> dict[str, Any]:
        return {"allowed": True, "warnings": ["it is late"], "auditAnnotations": {"a": "b"}}

    await configure(api, VALIDATING, hooks.webhook("/a", warn), hooks.webhook("/b", warn))
    assert (await create(api)).headers["warning"] == ['299 - "it is late"']


async def test_webhooks_see_a_dry_run_and_it_stores_nothing(api: Api, hooks: Hooks) -> None:
    await configure(api, MUTATING, hooks.webhook("/m", set_data("a", "1"), sideEffects="NoneOnDryRun"))
    made = await create(api, dryRun="All")
    assert made.json["data"]["a"] == "1"
    assert (hooks.seen[0][1]["dryRun"], hooks.seen[0][1]["options"]["dryRun"]) == (True, ["All"])
    assert (await api("GET", f"{CONFIGMAPS}/a")).status == 404


async def test_a_webhook_with_side_effects_refuses_a_dry_run(api: Api, hooks: Hooks) -> None:
    await configure(api, VALIDATING, hooks.webhook("/v", failurePolicy="Ignore"))
    await as_stored_by_an_older_server(api.plane, {"sideEffects": "Some"})
    refused = await create(api, dryRun="All")
    assert refused.status == 400
    assert refused.json["message"] == 'admission webhook "v.hooks.example.com" does not support dry run'
    assert (await create(api)).status == 201


async def as_stored_by_an_older_server(plane: Plane, change: dict[str, Any]) -> None:
    """Put into the store what the API does not take any more."""
    group = "admissionregistration.k8s.io"
    kind = plane.app.backend.registry.find(group, "v1", "validatingwebhookconfigurations")
    assert kind is not None
    (record,) = plane.store.select(Scope(kind.resource))
    obj = object_of(kind, record)
    obj["webhooks"][0] |= change
    await plane.store.write(Put(record.key, draft_of(kind, obj), record.revision))


async def test_webhooks_do_not_apply_to_admission_configuration(api: Api, hooks: Hooks) -> None:
    await configure(api, VALIDATING, hooks.webhook("/v", deny("never"), rules=[ALL]))
    await configure(api, MUTATING, hooks.webhook("/m", deny("never"), rules=[ALL]))
    assert (await api("DELETE", f"{VALIDATING}/hooks")).status == 200
    assert (await api("DELETE", f"{MUTATING}/hooks")).status == 200
    assert hooks.seen == []
    assert (await create(api)).status == 201


async def test_a_token_request_is_read_before_a_webhook_is_asked(api: Api, hooks: Hooks) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    await api("POST", accounts, {"metadata": {"name": "sa"}}, type=JSON)
    await configure(api, MUTATING, hooks.webhook("/m", rules=[ALL]))
    for spec in ("x", [1], {"expirationSeconds": "soon"}):
        assert (await api("POST", f"{accounts}/sa/token", {"spec": spec}, type=JSON)).status == 400
    assert hooks.seen == []
    made = await api("POST", f"{accounts}/sa/token", {"spec": {"expirationSeconds": None, "more": 1}}, type=JSON)
    assert made.status == 201
    assert hooks.seen[0][1]["object"]["spec"] == {"expirationSeconds": 3600}


async def test_a_scale_is_shown_and_changed_as_a_scale(api: Api, hooks: Hooks) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": template}
    await api("POST", DEPLOYMENTS, {"metadata": {"name": "d"}, "spec": spec}, type=JSON)
    rule = {"operations": ["UPDATE"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments/scale"]}
    answer = patch({"op": "replace", "path": "/spec/replicas", "value": 3})
    await configure(api, MUTATING, hooks.webhook("/m", answer, rules=[rule]))
    scaled = await api(
        "PATCH", f"{DEPLOYMENTS}/d/scale", {"spec": {"replicas": 9}}, type="application/merge-patch+json"
    )
    ((_, request),) = hooks.seen
    assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
    assert (request["resource"]["resource"], request["subResource"]) == ("deployments", "scale")
    assert (request["object"]["spec"], request["oldObject"]["spec"]) == ({"replicas": 9}, {"replicas": 1})
    assert scaled.json["spec"] == {"replicas": 3}
    assert (await api("GET", f"{DEPLOYMENTS}/d")).json["spec"]["replicas"] == 3


async def test_a_webhook_of_another_version_sees_and_changes_that_version(api: Api, hooks: Hooks) -> None:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    rule = {
        "operations": ["CREATE"],
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v1"],
        "resources": ["horizontalpodautoscalers"],
    }
    raised = patch({"op": "add", "path": "/spec/targetCPUUtilizationPercentage", "value": 70})
    await configure(
        api,
        MUTATING,
        hooks.webhook("/exact", deny(), rules=[rule], matchPolicy="Exact"),
        hooks.webhook("/alike", raised, rules=[rule]),
    )
    path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
    made = await api(
        "POST", path, {"metadata": {"name": "h"}, "spec": {"scaleTargetRef": target, "maxReplicas": 3}}, type=JSON
    )
    ((_, request),) = hooks.seen
    assert (request["kind"]["version"], request["requestKind"]["version"]) == ("v1", "v2")
    assert request["object"]["apiVersion"] == "autoscaling/v1"
    assert made.json["apiVersion"] == "autoscaling/v2"
    assert made.json["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"] == 70


async def test_webhooks_are_found_again_after_a_restart_and_need_not_be_there_for_it(
    tmp_path: Path, hooks: Hooks
) -> None:
    settings = Settings(data=tmp_path, port=0, operators=frozenset())
    async with open_plane(settings) as plane:
        await configure(Api(plane), VALIDATING, hooks.webhook("/v", deny("no"), rules=[ALL]))
    async with open_plane(settings) as plane:
        assert (await create(Api(plane))).status == 400


async def test_a_condition_that_does_not_compile_is_refused_when_it_is_written(plane: Plane, hooks: Hooks) -> None:
    api = Api(plane)
    conditions = [{"name": "ok", "expression": "true"}, {"name": "bad", "expression": "authorizer.path('/') == 1"}]
    refused = await api("POST", VALIDATING, configuration(hooks.webhook(matchConditions=conditions)), type=JSON)
    assert refused.status == 422
    (cause,) = refused.json["details"]["causes"]
    assert cause["field"] == "webhooks[0].matchConditions[1].expression"
    assert "found no matching overload" in cause["message"]


@pytest.mark.slow
async def test_conditions_are_compiled_beside_the_event_loop(plane: Plane, hooks: Hooks) -> None:
    api = Api(plane)
    ones = ",".join("1" for _ in range(4_000))
    long = [{"name": "long", "expression": f"[{ones}].all(x, x == 1) && object.metadata.name == 'a'"}]
    async with measured_turns() as turns:
        await configure(api, VALIDATING, *(hooks.webhook(f"/v{n}", matchConditions=long) for n in range(8)))
        assert (await create(api)).status == 201
    assert turns.longest_s < 0.2, "on the loop it would take half a second"


async def test_conditions_that_take_seconds_to_compile_are_refused(plane: Plane, hooks: Hooks) -> None:
    long = [{"name": "long", "expression": "'" + "x" * 20_000 + "' != ''"}]
    many = configuration(*(hooks.webhook(f"/v{n}", matchConditions=long) for n in range(8)))
    refused = await Api(plane)("POST", VALIDATING, many, type=JSON)
    assert refused.status == 422
    assert "the match conditions have 160064 characters in total; limit 131072" in refused.json["message"]


async def test_a_request_from_a_socket_waits_for_webhooks(plane: Plane, hooks: Hooks) -> None:
    await configure(Api(plane), MUTATING, hooks.webhook("/m", set_data("a", "1")))
    await configure(Api(plane), VALIDATING, *(hooks.webhook(f"/v{n}") for n in range(2)))
    pki = plane.settings.data / "pki"
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"{plane.url}{CONFIGMAPS}", json=configmap(), ssl=context) as answer,
    ):
        assert answer.status == 201
        assert (await answer.json())["data"] == {"x": "1", "a": "1"}
    assert len(hooks.seen) == 3


async def test_warnings_beyond_what_headers_can_hold_are_left_out(api: Api, hooks: Hooks) -> None:
    def warn(_: dict[str, Any]) -> dict[str, Any]:
        return {"allowed": True, "warnings": [f"{n}" * 3000 for n in range(9)] + ["x" * 8000] * 4}

    await configure(api, VALIDATING, hooks.webhook("/v", warn))
    warnings = (await create(api)).headers["warning"]
    assert sum(map(len, warnings)) < 6000
    assert len(warnings[0]) > 200


async def test_large_answers_of_webhooks_hold_nobody_up(api: Api, hooks: Hooks) -> None:
    operations = [{"op": "add", "path": "/data/x", "value": "y" * 80}] * 9_000
    response = {
        "uid": "UID",
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": base64.b64encode(msgspec.json.encode(operations)).decode(),
        "warnings": [f"w{at}" for at in range(200_000)],
    }
    review = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": response}
    encoded = msgspec.json.encode(review)

    def answer(request: dict[str, Any]) -> Reply:
        return Reply(200, encoded.replace(b"UID", request["uid"].encode(), 1))

    await configure(api, MUTATING, hooks.webhook("/v", answer))
    hooks.at_once = asyncio.Barrier(8)
    async with measured_turns() as turns:
        answers = await asyncio.gather(*(create(api, configmap(f"c{at}")) for at in range(8)))
    assert {each.status for each in answers} == {201}
    assert turns.longest_s < 0.1, "a single one took seconds"
