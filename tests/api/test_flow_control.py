"""FlowSchemas and PriorityLevelConfigurations, through the server."""

from __future__ import annotations

import asyncio
from inspect import isawaitable
from typing import Any

import pytest

from homeostat.edge.items import whole_of
from homeostat.edge.reply import Reply
from homeostat.edge.request import Headers, Peer, Request
from homeostat.objects.flow_control import FLOW_SCHEMAS, PRIORITY_LEVELS
from homeostat.objects.json import JsonObject
from homeostat.server.access.user import SELF, User
from homeostat.server.request.large_calls import LargeCalls
from homeostat.testing.eventually import eventually
from tests.api.conftest import MERGE_PATCH, Answer, Api
from tests.api.objects import CONFIGMAPS

ALICE = User("alice", groups=("system:authenticated",))
_EVERYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}


async def limit_alice(api: Api, response: dict[str, Any] | None = None) -> tuple[str, str]:
    """A level of three seats for her; the uids of the FlowSchema and the level."""
    rule = {
        "subjects": [{"kind": "User", "user": {"name": "alice"}}],
        "resourceRules": [_EVERYTHING],
        "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    }
    limited = {
        "nominalConcurrencyShares": 1,
        "limitResponse": response or {"type": "Reject"},
        "borrowingLimitPercent": 0,
    }
    level = await api("POST", PRIORITY_LEVELS, _object("tiny", {"type": "Limited", "limited": limited}))
    spec = {"priorityLevelConfiguration": {"name": "tiny"}, "matchingPrecedence": 700, "rules": [rule]}
    schema = await api("POST", FLOW_SCHEMAS, _object("of-alice", spec))
    assert (level.status, schema.status) == (201, 201)
    return schema.json["metadata"]["uid"], level.json["metadata"]["uid"]


def _object(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": spec}


async def asked(api: Api, path: str, user: User) -> Reply:
    answer = api.plane.app.handle(Request("GET", path, "", Headers(), b"", Peer(""), {"user": user}))
    assert isinstance(answer, Reply), "it waits"
    return answer


async def test_each_answer_names_the_flow_schema_and_the_level(api: Api) -> None:
    schema, level = await limit_alice(api)
    lines = f"X-Kubernetes-Pf-Flowschema-Uid: {schema}\r\nX-Kubernetes-Pf-Prioritylevel-Uid: {level}\r\n".encode()
    found = [await asked(api, path, ALICE) for path in ("/version", CONFIGMAPS, "/api/v1/nothing")]
    assert [(each.status, each.lines) for each in found] == [(200, lines), (403, lines), (404, lines)]
    other = await asked(api, "/version", SELF)
    assert other.lines
    assert other.lines != lines


async def test_a_call_that_times_out_is_answered_in_the_form_of_its_caller(api: Api) -> None:
    schema, level = await limit_alice(
        api, {"type": "Queue", "queuing": {"queues": 1, "handSize": 1, "queueLengthLimit": 1}}
    )
    app = api.plane.app
    await asked(api, "/version", ALICE)
    assert [app.flows.seats.levels["tiny"].enter() for _ in range(3)] == [True] * 3
    headers = Headers()
    headers.add("accept", "application/vnd.kubernetes.protobuf")
    waits = app.handle(Request("GET", "/version", "", headers, b"", Peer(""), {"user": ALICE}))
    assert isawaitable(waits)
    task = asyncio.ensure_future(waits)
    await asyncio.sleep(0)
    app.deadlines.tick(asyncio.get_running_loop().time() + app.deadlines.limit_s + 1)
    answer = await task
    assert isinstance(answer, Reply)
    assert (answer.status, whole_of(answer.body)[:4]) == (504, b"k8s\0")
    assert f"Flowschema-Uid: {schema}" in answer.lines.decode()
    assert f"Prioritylevel-Uid: {level}" in answer.lines.decode()


async def test_a_level_without_a_free_seat_rejects_its_own_calls_and_no_others(api: Api) -> None:
    await limit_alice(api)
    assert (await asked(api, "/version", ALICE)).status == 200
    level = api.plane.app.flows.seats.levels["tiny"]
    assert [level.enter() for _ in range(4)] == [True, True, True, False]
    refused = await asked(api, "/version", ALICE)
    assert (refused.status, refused.headers) == (429, (("Retry-After", "1"),))
    assert b'priority level \\"tiny\\" at once' in whole_of(refused.body)
    assert (await api("GET", "/version", user=User("bob", groups=("system:authenticated",)))).status == 200
    assert (await api("GET", CONFIGMAPS)).status == 200
    level.leave()
    assert (await asked(api, "/version", ALICE)).status == 200
    metrics = (await api("GET", "/metrics")).body.decode()
    rejected = 'flow_schema="of-alice",priority_level="tiny",reason="concurrency-limit"'
    assert 'apiserver_flowcontrol_nominal_limit_seats{priority_level="tiny"} 3.0' in metrics
    assert any(line.startswith("apiserver_flowcontrol_rejected_requests_total") for line in metrics.splitlines())
    assert sorted(rejected.split(",")) == sorted(
        metrics.partition("apiserver_flowcontrol_rejected_requests_total{")[2].partition("}")[0].split(",")
    )


async def let_alice(api: Api, verb: str) -> None:
    """With ConfigMaps."""
    role = {"metadata": {"name": "a"}, "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": [verb]}]}
    binding = {
        "metadata": {"name": "a"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "a"},
        "subjects": [{"kind": "User", "name": "alice", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    assert (await api("POST", "/apis/rbac.authorization.k8s.io/v1/clusterroles", role)).status == 201
    assert (await api("POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings", binding)).status == 201


async def test_calls_that_wait_for_a_seat_do_not_hold_up_a_write_of_another_level(api: Api) -> None:
    queuing = {"queues": 1, "handSize": 1, "queueLengthLimit": 50}
    await limit_alice(api, {"type": "Queue", "queuing": queuing})
    await let_alice(api, "patch")
    assert (await api("POST", CONFIGMAPS, {"metadata": {"name": "a"}})).status == 201
    assert (await asked(api, "/version", ALICE)).status == 200
    level = api.plane.app.flows.seats.levels["tiny"]
    assert [level.enter() for _ in range(3)] == [True, True, True]
    change = {"data": {"by": "alice"}}
    hers = [
        asyncio.ensure_future(api("PATCH", f"{CONFIGMAPS}/a", change, user=ALICE, type=MERGE_PATCH)) for _ in range(9)
    ]
    await asyncio.sleep(0)
    other = api("PATCH", f"{CONFIGMAPS}/a", {"data": {"by": "bob"}}, type=MERGE_PATCH)
    assert (await asyncio.wait_for(other, 5)).status == 200
    for _ in range(3):
        level.leave()
    assert {each.status for each in await asyncio.gather(*hers)} == {200}
    assert (level.running, level.waiting, len(api.plane.app.in_flight.objects)) == (0, 0, 0)


async def test_large_calls_of_a_user_start_a_few_at_a_time_and_wait_without_a_seat(api: Api) -> None:
    """All of them would be decoded at once, and have all seats."""
    began, may_end = list[str](), asyncio.Event()

    async def hold(_: str, __: JsonObject | None, new: JsonObject | None) -> None:
        if new is not None and "text" in new.get("data", {}):
            began.append(new["metadata"]["name"])
            await may_end.wait()

    api.plane.admission.guards.put("test", {"configmaps": hold})
    await limit_alice(api)
    await let_alice(api, "create")
    api.plane.app.large_calls = LargeCalls(most_bytes=300_000)
    large = {"text": "x" * 99_000}

    def create(name: str, user: User) -> asyncio.Future[Answer]:
        return asyncio.ensure_future(api("POST", CONFIGMAPS, {"metadata": {"name": name}, "data": large}, user=user))

    calls = [create(f"alice-{number}", ALICE) for number in range(5)]
    await eventually(lambda: len(began), lambda count: count == 3)
    level = api.plane.app.flows.seats.levels["tiny"]
    assert level.running == 3
    calls += [create(f"self-{number}", SELF) for number in range(5)]
    await eventually(lambda: len(began), lambda count: count == 8)
    calls[0].cancel()
    await eventually(lambda: len(began), lambda count: count == 9)
    may_end.set()
    assert {each.status for each in await asyncio.gather(*calls[1:])} == {201}
    assert (level.running, level.waiting, sorted(began)[:5]) == (0, 0, [f"alice-{number}" for number in range(5)])


async def test_a_watch_takes_no_seat(api: Api) -> None:
    await limit_alice(api)
    await let_alice(api, "watch")
    watches = [await api.watch(CONFIGMAPS, user=ALICE) for _ in range(4)]
    assert api.plane.app.flows.seats.levels["tiny"].running == 0
    for each in watches:
        each.close()


@pytest.mark.parametrize(
    ("path", "change", "is_allowed"),
    [
        (f"{FLOW_SCHEMAS}/exempt", {"spec": {"matchingPrecedence": 2}}, False),
        (f"{FLOW_SCHEMAS}/catch-all", {"spec": {"distinguisherMethod": None}}, False),
        (f"{PRIORITY_LEVELS}/catch-all", {"spec": {"limited": {"nominalConcurrencyShares": 7}}}, False),
        (f"{PRIORITY_LEVELS}/exempt", {"spec": {"exempt": {"nominalConcurrencyShares": 7}}}, True),
        (f"{FLOW_SCHEMAS}/probes", {"spec": {"matchingPrecedence": 3}}, True),
    ],
)
async def test_only_what_is_not_mandatory_can_be_changed(
    api: Api, path: str, change: dict[str, Any], is_allowed: bool
) -> None:
    answer = await api("PATCH", path, change, type=MERGE_PATCH)
    assert answer.status == (200 if is_allowed else 422)
    assert is_allowed or "must equal the fixed value" in answer.json["message"]
