"""Who works, told by Leases; and ages as people read them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from homeostat.objects.time.timestamp import format_micro_time
from homeostat.web.actions.pages.nodes import Lease, LeaseMetadata, LeaseSpec, age, nodes_body
from tests.web.actions.calling import Api

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def lease(name: str, holder: str, *, acquired_s: float = 600, renewed_s: float = 1) -> Lease:
    def ago(seconds: float) -> str:
        return format_micro_time(NOW - timedelta(seconds=seconds))

    spec = LeaseSpec(holder_identity=holder, acquire_time=ago(acquired_s), renew_time=ago(renewed_s))
    return Lease(LeaseMetadata(name), spec)


def test_the_leader_holds_the_lease_of_the_operator() -> None:
    leases = [
        lease("homeostat-actions", "b_2", acquired_s=90),
        lease("homeostat-policy", "a_1", acquired_s=7200),
        lease("homeostat-housekeeping", "b_2", acquired_s=30),
        lease("other", "c_3"),
    ]
    body = nodes_body(leases, identity="a_1", now=NOW)
    assert (body["this_instance_id"], body["this_instance_is_leader"]) == ("a_1", False)
    assert [(each["node_id"], each["role"], each["status"]) for each in body["nodes"]] == [
        ("a_1", "follower", "Ready"),
        ("b_2", "leader", "Ready"),
    ]
    assert [(each["hostname"], each["age"]) for each in body["nodes"]] == [("a", "2h"), ("b", "1m30s")]
    assert (body["leader_lock"]["holder_id"], body["leader_lock"]["is_valid"]) == ("b_2", True)
    assert body["leader_lock"]["expires_at"] == "2026-01-02T03:04:19Z"


def test_a_process_that_holds_several_leases_is_one_node() -> None:
    leases = [lease("homeostat-actions", "a_1/2"), lease("homeostat-policy", "a_1/3"), lease("homeostat-x", "b_2/1")]
    body = nodes_body(leases, identity="a_1/2", now=NOW)
    assert [(each["node_id"], each["role"]) for each in body["nodes"]] == [("a_1", "leader"), ("b_2", "follower")]
    assert (body["this_instance_id"], body["this_instance_is_leader"]) == ("a_1", True)


def test_a_lease_that_has_run_out_makes_no_leader() -> None:
    body = nodes_body([lease("homeostat-actions", "a_1", renewed_s=60)], identity="a_1", now=NOW)
    assert body["this_instance_is_leader"] is False
    assert [(each["role"], each["status"]) for each in body["nodes"]] == [("follower", "NotReady")]
    assert body["leader_lock"]["is_valid"] is False
    assert nodes_body([], identity="a_1", now=NOW)["leader_lock"] is None
    assert nodes_body([lease("homeostat-actions", "")], identity="", now=NOW)["nodes"] == []


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "0s"),
        (0, "0s"),
        (45, "45s"),
        (200, "3m20s"),
        (600, "10m"),
        (9000, "2h30m"),
        (18000, "5h"),
        (273600, "3d4h"),
        (604800, "7d"),
        (604859, "7d"),
    ],
)
def test_an_age_has_its_two_largest_units(seconds: int, told: str) -> None:
    assert age(timedelta(seconds=seconds)) == told


async def test_a_process_that_leads_by_itself_is_the_only_node(api: Api) -> None:
    body = (await api.get("/cluster/nodes")).body
    (node,) = body["nodes"]
    assert (node["role"], node["status"], body["this_instance_is_leader"]) == ("leader", "Ready", True)
    assert body["leader_lock"] is None


async def test_health_and_plugins_are_reported(api: Api) -> None:
    assert (await api.get("/health")).body["status"] == "ok"
    assert (await api.get("/")).body["api"] == "/api/v1"
    assert (await api.get("/api/v1")).body["docs"] == "/docs"
    assert (await api.get("/cluster/health")).body == {"status": "ok"}
    actions = {each["name"]: each["version"] for each in (await api.get("/plugins/actions")).body}
    assert actions["shelf"] == "1.2.3"
    assert "github_actions" in actions
    assert "command" not in actions
    inputs = [each["name"] for each in (await api.get("/plugins/inputs")).body]
    assert inputs[0] == "http"
    assert "git" in inputs
