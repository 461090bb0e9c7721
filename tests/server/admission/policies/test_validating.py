from __future__ import annotations

from typing import Any

import pytest

from homeostat.objects.errors import ApiError
from homeostat.plane import Plane
from homeostat.server.admission.policies import policy as policy_module
from tests.api.conftest import Api
from tests.api.objects import CONFIGMAPS, CRDS, configmap, definition
from tests.holds import measured_turns
from tests.server.admission.hooks import BINDINGS, CONFIGMAP_RULE, POLICIES, binding, policy

X_IS_SMALL = {"expression": "int(object.data.x) < 5"}


async def bind(plane: Plane, made: dict[str, Any], **spec: Any) -> None:
    if "paramRef" in spec:
        spec["paramRef"] = {"parameterNotFoundAction": "Deny", **spec["paramRef"]}
    await plane.client.create(POLICIES, made)
    await plane.client.create(BINDINGS, binding(**spec))


async def refusal(plane: Plane, x: str = "9", path: str = CONFIGMAPS, **metadata: Any) -> ApiError | None:
    """Why a ConfigMap with this `x` is refused; None if it is not."""
    try:
        await plane.client.create(path, configmap(f"x{x}", metadata=metadata, data={"x": x}))
    except ApiError as error:
        return error
    return None


async def test_a_policy_refuses_what_breaks_it_and_nothing_else(plane: Plane) -> None:
    await bind(plane, policy(X_IS_SMALL))
    assert await refusal(plane, "1") is None
    error = await refusal(plane)
    assert error is not None
    assert (error.code, error.reason) == (422, "Invalid")
    denied = "ValidatingAdmissionPolicy 'policy' with binding 'binding' denied request"
    told = f"{denied}: failed expression: int(object.data.x) < 5"
    assert error.message == f'configmaps "x9" is forbidden: {told}'
    assert [each.message for each in error.causes] == [told]


async def test_a_binding_is_admitted_once_as_what_it_is(plane: Plane) -> None:
    pods = "/api/v1/namespaces/default/pods"
    spec = {"automountServiceAccountToken": False, "containers": [{"name": "main", "image": "nginx:1"}]}
    await plane.client.create(pods, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec})
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["*"], "resources": ["pods/binding"]}
    as_binding = {
        "expression": "request.operation == 'CREATE' && object.kind == 'Binding' && object.target.name == 'n1'"
    }
    await bind(plane, policy(as_binding, matchConstraints={"resourceRules": [rule]}))
    body = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}}
    with pytest.raises(ApiError, match="denied request"):
        await plane.client.create(f"{pods}/p/binding", {**body, "target": {"kind": "Node", "name": "n2"}})
    await plane.client.create(f"{pods}/p/binding", {**body, "target": {"kind": "Node", "name": "n1"}})
    assert (await plane.client.get(f"{pods}/p"))["spec"]["nodeName"] == "n1"


async def test_a_policy_without_a_binding_does_nothing(plane: Plane) -> None:
    await plane.client.create(POLICIES, policy(X_IS_SMALL))
    assert await refusal(plane) is None


async def test_a_policy_ends_with_its_binding(plane: Plane) -> None:
    await bind(plane, policy(X_IS_SMALL))
    await plane.client.delete(f"{BINDINGS}/binding")
    assert await refusal(plane) is None


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"message": " too big "}, "too big"),
        ({"messageExpression": "'x is ' + object.data.x"}, "x is 9"),
        ({"messageExpression": "'x is ' + object.data.y", "message": "fallback"}, "fallback"),
        ({"messageExpression": r"'two\nlines'", "message": "fallback"}, "fallback"),
        ({"messageExpression": "'  '"}, "failed expression: int(object.data.x) < 5"),
    ],
    ids=["message", "expression", "no-value", "lines", "blank"],
)
async def test_a_refusal_says_what_the_policy_wants_it_to(plane: Plane, more: dict[str, str], message: str) -> None:
    await bind(plane, policy({**X_IS_SMALL, **more}))
    error = await refusal(plane)
    assert error is not None
    assert error.message.endswith(f"denied request: {message}")


@pytest.mark.parametrize(("reason", "code"), [("Forbidden", 403), ("RequestEntityTooLarge", 413)])
async def test_a_reason_gives_the_code(plane: Plane, reason: str, code: int) -> None:
    await bind(plane, policy({**X_IS_SMALL, "reason": reason}))
    error = await refusal(plane)
    assert error is not None
    assert (error.code, error.reason) == (code, reason)


@pytest.mark.parametrize("action", ["Warn", "Audit"])
async def test_a_binding_that_does_not_deny_lets_the_write_pass(api: Api, action: str) -> None:
    await bind(api.plane, policy({**X_IS_SMALL, "message": "big"}), validationActions=[action])
    answer = await api("POST", CONFIGMAPS, configmap(data={"x": "9"}))
    assert answer.status == 201
    told = "299 - \"Validation failed for ValidatingAdmissionPolicy 'policy' with binding 'binding': big\""
    assert answer.headers.get("warning", []) == ([told] if action == "Warn" else [])


@pytest.mark.parametrize(("failure_policy", "is_refused"), [("Fail", True), ("Ignore", False)])
async def test_what_cannot_be_evaluated_is_decided_by_the_failure_policy(
    plane: Plane, failure_policy: str, is_refused: bool
) -> None:
    await bind(plane, policy({"expression": "object.data.y == ''"}, failurePolicy=failure_policy))
    error = await refusal(plane)
    assert (error is not None) is is_refused
    if error is not None:
        assert error.message.endswith("expression 'object.data.y == ''' resulted in error: no such key: y")


async def test_variables_are_worked_out_where_they_are_mentioned(plane: Plane) -> None:
    variables = [
        {"name": "x", "expression": "int(object.data.x)"},
        {"name": "double", "expression": "variables.x * 2"},
        {"name": "broken", "expression": "object.data.missing"},
        {"name": "held", "expression": "{'a': {'b': {'c': object.data}}}"},
    ]
    validations = [
        {"expression": "variables.double < 10 || variables.broken == ''", "message": "doubled"},
        {"expression": "variables.held.a.b.c.x == object.data.x"},
    ]
    await bind(plane, policy(*validations, variables=variables))
    assert await refusal(plane, "1") is None
    error = await refusal(plane)
    assert error is not None
    assert 'composited variable "broken" fails to evaluate' in error.message


async def test_conditions_narrow_a_policy(plane: Plane) -> None:
    conditions = [{"name": "c", "expression": "object.metadata.name != 'x9'"}]
    await bind(plane, policy(X_IS_SMALL, matchConditions=conditions))
    assert await refusal(plane) is None
    assert await refusal(plane, "8") is not None


async def test_a_policy_sees_the_namespace_and_the_request(plane: Plane) -> None:
    expression = "namespaceObject.metadata.name == 'default' && request.operation == 'CREATE' && oldObject == null"
    await bind(plane, policy({"expression": f"!({expression})"}))
    assert await refusal(plane) is not None


async def test_a_policy_sees_the_ports_of_a_service_before_its_type_changed(plane: Plane) -> None:
    services = "/api/v1/namespaces/default/services"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["services"]}
    had_a_port = {"expression": "!has(oldObject.spec.ports[0].nodePort)", "message": "it had a port"}
    await bind(plane, policy(had_a_port, matchConstraints={"resourceRules": [rule]}))
    spec = {"type": "NodePort", "ports": [{"port": 80, "nodePort": 30080}]}
    await plane.client.create(
        services, {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec}
    )
    with pytest.raises(ApiError, match="it had a port"):
        await plane.client.merge(f"{services}/s", {"spec": {"type": "ClusterIP"}})


async def test_a_policy_on_deletes_sees_the_old_object_only(plane: Plane) -> None:
    constraints = {"resourceRules": [{**CONFIGMAP_RULE, "operations": ["DELETE"]}]}
    check = {"expression": "object == null && oldObject.data.x != '9'", "message": "stays"}
    await bind(plane, policy(check, matchConstraints=constraints))
    for x in "19":
        await plane.client.create(CONFIGMAPS, configmap(f"x{x}", data={"x": x}))
    await plane.client.delete(f"{CONFIGMAPS}/x1")
    with pytest.raises(ApiError, match="stays"):
        await plane.client.delete(f"{CONFIGMAPS}/x9")


async def test_a_binding_narrows_its_policy(plane: Plane) -> None:
    await bind(plane, policy(X_IS_SMALL), matchResources={"objectSelector": {"matchLabels": {"a": "b"}}})
    assert await refusal(plane) is None
    assert await refusal(plane, "8", labels={"a": "b"}) is not None


async def test_policies_do_not_apply_to_admission_configuration(plane: Plane) -> None:
    everything = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    await bind(plane, policy({"expression": "false"}, matchConstraints={"resourceRules": [everything]}))
    assert await refusal(plane) is not None
    await plane.client.delete(f"{POLICIES}/policy")
    assert await refusal(plane) is None


PARAM_KIND = {"apiVersion": "v1", "kind": "ConfigMap"}
X_IS_BELOW_LIMIT = {"expression": "!has(object.data.x) || int(object.data.x) < int(params.data.limit)"}


async def limit(plane: Plane, value: str, name: str = "limits", **labels: str) -> None:
    await plane.client.create(CONFIGMAPS, {"metadata": {"name": name, "labels": labels}, "data": {"limit": value}})


@pytest.mark.parametrize(
    "reference",
    [{"name": "limits"}, {"name": "limits", "namespace": "default"}, {"selector": {"matchLabels": {"limits": "yes"}}}],
    ids=["name", "namespace", "selector"],
)
async def test_parameters_are_read_from_an_object(plane: Plane, reference: dict[str, Any]) -> None:
    await limit(plane, "5", limits="yes")
    await bind(plane, policy(X_IS_BELOW_LIMIT, paramKind=PARAM_KIND), paramRef=reference)
    assert await refusal(plane, "1") is None
    assert await refusal(plane) is not None
    await plane.client.merge(f"{CONFIGMAPS}/limits", {"data": {"limit": "50"}})
    assert await refusal(plane) is None


async def test_every_selected_parameter_object_must_be_content(plane: Plane) -> None:
    await limit(plane, "50", "wide", limits="yes")
    await limit(plane, "5", "narrow", limits="yes")
    reference = {"selector": {"matchLabels": {"limits": "yes"}}}
    await bind(plane, policy(X_IS_BELOW_LIMIT, paramKind=PARAM_KIND), paramRef=reference)
    assert await refusal(plane) is not None


@pytest.mark.parametrize(
    ("spec", "reference", "told"),
    [
        ({}, {"parameterNotFoundAction": "Allow"}, None),
        ({}, {"parameterNotFoundAction": "Deny"}, "no params found for policy binding with `Deny`"),
        ({"failurePolicy": "Ignore"}, {"parameterNotFoundAction": "Deny"}, None),
        ({"paramKind": {"apiVersion": "v1", "kind": "Dream"}}, {}, "paramKind kind `v1, Kind=Dream` not known"),
        ({"paramKind": {"apiVersion": "v1", "kind": "Node"}}, {"namespace": "default"}, "must not be provided"),
    ],
    ids=["allow", "deny", "ignore", "kind", "scope"],
)
async def test_missing_parameters_allow_or_deny(
    plane: Plane, spec: dict[str, Any], reference: dict[str, Any], told: str | None
) -> None:
    made = policy(X_IS_BELOW_LIMIT, **{"paramKind": PARAM_KIND, **spec})
    await bind(plane, made, paramRef={"name": "limits", **reference})
    error = await refusal(plane)
    assert (error is not None) is (told is not None)
    if error is not None and told is not None:
        assert "denied request: failed to configure binding: " in error.message
        assert told in error.message


async def test_a_custom_kind_may_hold_parameters(plane: Plane) -> None:
    await plane.client.create(CRDS, definition())
    obj = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"size": 5}}
    await plane.client.create("/apis/example.com/v1/namespaces/default/widgets", obj)
    check = {"expression": "int(object.data.x) < params.spec.size"}
    kind = {"apiVersion": "example.com/v1", "kind": "Widget"}
    await bind(plane, policy(check, paramKind=kind), paramRef={"name": "w"})
    assert await refusal(plane) is not None
    assert await refusal(plane, "1") is None


async def test_expressions_that_do_not_compile_are_refused_when_they_are_written(api: Api) -> None:
    made = policy(
        {"expression": "object.x +", "messageExpression": "1"},
        variables=[{"name": "v", "expression": "nothing"}],
        matchConditions=[{"name": "c", "expression": "variables.v"}],
    )
    refused = await api("POST", POLICIES, made)
    assert refused.status == 422
    fields = [each["field"] for each in refused.json["details"]["causes"]]
    assert fields == [
        "spec.matchConditions[0].expression",
        "spec.variables[0].expression",
        "spec.validations[0].expression",
        "spec.validations[0].messageExpression",
    ]


@pytest.mark.parametrize(
    ("reference", "fields"),
    [
        ({}, ["paramRef", "paramRef.parameterNotFoundAction"]),
        ({"name": "a", "parameterNotFoundAction": "Maybe"}, ["paramRef.parameterNotFoundAction"]),
        (
            {"name": "a", "selector": {"matchLabels": {"a": "not a label"}}, "parameterNotFoundAction": "Deny"},
            ["paramRef.name", "paramRef.selector", "paramRef.selector.matchLabels"],
        ),
    ],
    ids=["empty", "action", "selector"],
)
async def test_a_binding_needs_a_sound_reference_to_its_parameters(
    api: Api, reference: dict[str, Any], fields: list[str]
) -> None:
    refused = await api("POST", BINDINGS, binding(paramRef=reference))
    assert refused.status == 422
    assert [each["field"] for each in refused.json["details"]["causes"]] == [f"spec.{each}" for each in fields]


async def test_variables_need_names_and_expressions(api: Api) -> None:
    variables = [{"name": "a", "expression": "1"}, {"name": "a", "expression": "2"}, {"name": "b-c", "expression": "3"}]
    refused = await api("POST", POLICIES, policy({"expression": "true"}, variables=[*variables, {"name": "d"}]))
    fields = [each["field"] for each in refused.json["details"]["causes"]]
    assert fields == ["spec.variables[2].name", "spec.variables[3].expression"]


@pytest.mark.slow
async def test_expressions_that_cost_much_run_beside_the_event_loop(plane: Plane) -> None:
    dear = {"expression": "object.data.all(k, object.data.all(l, object.data[k].size() + object.data[l].size() < 9))"}
    await bind(plane, policy(dear), validationActions=["Warn"])
    many = configmap("many", data={f"k{at}": "v" for at in range(400)})
    async with measured_turns() as turns:
        await plane.client.create(CONFIGMAPS, many)
    assert turns.longest_s < 0.15, "on the loop it would take 0.3 s"
    assert await refusal(plane, "1") is None


@pytest.mark.slow
async def test_a_policy_of_many_expressions_is_compiled_beside_the_event_loop(plane: Plane) -> None:
    text = " && ".join(f"object.data.all(k, k != 'a{at}' || object.data[k].size() < {at})" for at in range(4))
    large = policy(*({"expression": text} for _ in range(128)))
    async with measured_turns() as turns:
        await plane.client.create(POLICIES, large)
    assert turns.longest_s < 0.1, "on the loop it would take 0.2 s or more"


@pytest.mark.slow
async def test_a_policy_that_another_replica_stored_is_compiled_beside_the_event_loop(plane: Plane) -> None:
    text = " && ".join(f"object.data.all(k, k != 'a{at}' || object.data[k].size() < {at})" for at in range(4))
    await bind(plane, policy(*({"expression": text} for _ in range(128))))
    policy_module._made.cache_clear()  # as in a process that did not check the write
    async with measured_turns() as turns:
        await plane.admission.follow(plane.store)
        assert await refusal(plane, "1") is None
    assert turns.longest_s < 0.1, "on the loop it would take 0.2 s or more"
