"""Which Node a Pod is placed on because of other Pods: affinity, spreading, preemption."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from homeostat.objects.json import JsonObject
from homeostat.operators.workloads.api import PodSpec, Workload
from homeostat.operators.workloads.scheduling.scheduler import MOST_PLANS, Scheduler
from homeostat.operators.workloads.scheduling.tallies import MOST_GROUPS
from tests.operators.workloads.objects import pod, workload

WEB = {"app": "web"}
IS_WEB: JsonObject = {"matchLabels": WEB}
HOST = "kubernetes.io/hostname"


def spec_of(**fields: Any) -> PodSpec:
    return msgspec.convert({"containers": [{"name": "a", "image": "a"}], **fields}, PodSpec)


def three(**allocatable: str) -> Scheduler:
    """Two Nodes in the zone a, one in b."""
    found = Scheduler()
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        size = {"allocatable": {"pods": "10", "cpu": "2", **allocatable}}
        found.set_node(workload(name, status=size, metadata={"labels": {"zone": zone, HOST: name}}))
    return found


def put(on: Scheduler, name: str, node: str = "", labels: dict[str, str] = WEB, **fields: Any) -> str:
    """Places a Pod, on a given Node or anywhere."""
    pinned = {"nodeSelector": {HOST: node}} if node else {}
    return on.place(("default", name), spec_of(**pinned, **fields), labels)


def beside(kind: str, topology: str, selector: JsonObject = IS_WEB, **more: Any) -> JsonObject:
    term = {"labelSelector": selector, "topologyKey": topology, **more}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def apart(topology: str = HOST, **more: Any) -> JsonObject:
    return beside("podAntiAffinity", topology, **more)


def near(topology: str = "zone", **more: Any) -> JsonObject:
    return beside("podAffinity", topology, **more)


def spread(**more: Any) -> JsonObject:
    given = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": IS_WEB, **more}
    return {"topologySpreadConstraints": [given]}


def test_pods_that_want_to_be_apart_are_on_nodes_of_their_own() -> None:
    on = three()
    assert {put(on, str(number), **apart()) for number in range(3)} == {"a1", "a2", "b1"}
    assert put(on, "more", **apart()) == ""
    text = on.explain(("default", "more"), spec_of(**apart()), WEB)
    assert "3 node(s) didn't match pod anti-affinity rules" in text
    assert "3 No preemption victims found" in text
    assert on.release(("default", "1"))
    assert put(on, "more", **apart())


def test_a_pod_keeps_others_away_that_do_not_care() -> None:
    on = three()
    assert put(on, "shy", "a1", labels={}, **apart("zone")) == "a1"
    assert put(on, "web") == "b1"
    assert put(on, "other", labels={"app": "db"}) in {"a1", "a2", "b1"}
    closed = on.explain(("default", "x"), spec_of(nodeSelector={"zone": "a"}), WEB)
    assert "2 node(s) didn't satisfy existing pods anti-affinity rules" in closed
    assert on.place(("elsewhere", "web"), spec_of(nodeSelector={"zone": "a"}), WEB)


def test_a_pod_is_placed_near_those_that_it_wants() -> None:
    on = three()
    assert put(on, "first", labels={}, **near()) == ""
    assert "3 node(s) didn't match pod affinity rules" in on.explain(("default", "x"), spec_of(**near()), {})
    assert put(on, "web", "b1") == "b1"
    assert put(on, "first", labels={}, **near()) == "b1"
    assert on.place(("other", "first"), spec_of(**near()), {}) == ""
    assert on.place(("other", "first"), spec_of(**near(namespaces=["default"])), {}) == "b1"
    assert on.place(("other", "second"), spec_of(**near(namespaceSelector={})), {}) == "b1"


def test_the_first_of_pods_that_want_each_other_may_be_anywhere() -> None:
    on = three()
    first = put(on, "first", **near(HOST))
    assert first
    assert put(on, "second", **near(HOST)) == first


@pytest.mark.parametrize(
    ("placed", "more", "expected"),
    [
        ([], {}, {"a1", "a2", "b1"}),
        (["a1"], {}, {"b1"}),
        (["a1", "b1"], {}, {"a1", "a2", "b1"}),
        (["a1"], {"maxSkew": 2}, {"a1", "a2", "b1"}),
        (["a1"], {"topologyKey": HOST}, {"a2", "b1"}),
        (["a1", "b1"], {"minDomains": 3}, {""}),
        (["a1"], {"labelSelector": {"matchLabels": {"app": "db"}}}, {"a1", "a2", "b1"}),
        (["a1"], {"whenUnsatisfiable": "ScheduleAnyway"}, {"a1", "a2", "b1"}),
        ([], {"topologyKey": "rack"}, {""}),
        (["a1"], {"matchLabelKeys": ["version"]}, {"a1", "a2", "b1"}),
    ],
)
def test_pods_are_spread_as_they_must_be(placed: list[str], more: JsonObject, expected: set[str]) -> None:
    on = three()
    for number, node in enumerate(placed):
        put(on, str(number), node)
    assert put(on, "next", labels={**WEB, "version": "2"}, **spread(**more)) in expected


def test_the_words_of_the_scheduler_for_a_pod_that_would_be_uneven() -> None:
    on = three()
    put(on, "web", "a1")
    uneven = spec_of(nodeSelector={"zone": "a"}, **spread(topologyKey=HOST, minDomains=3, maxSkew=1))
    assert "1 node(s) didn't match pod topology spread constraints" in on.explain(("default", "x"), uneven, WEB)
    unknown = on.explain(("default", "x"), spec_of(**spread(topologyKey="rack")), WEB)
    assert "3 node(s) didn't match pod topology spread constraints (missing required label)" in unknown
    assert "3 Preemption is not helpful for scheduling" in unknown


def test_groups_are_counted_again_when_there_were_too_many() -> None:
    on = three()
    put(on, "web", "a1")
    for number in range(MOST_GROUPS + 1):
        put(on, f"n{number}", "b1", labels={}, **near(labelSelector={"matchLabels": {"n": str(number)}}))
    assert put(on, "next", labels={}, **near()) in {"a1", "a2"}


def preferred(kind: str, **term: Any) -> JsonObject:
    inner = {"labelSelector": IS_WEB, **term}
    return {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 10, "podAffinityTerm": inner}]}}


def prefer_node(zone: str, weight: int) -> JsonObject:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [zone]}]}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, "preference": term}]}


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"affinity": preferred("podAntiAffinity", topologyKey="zone")}, {"b1"}),
        ({"affinity": preferred("podAffinity", topologyKey=HOST)}, {"a1"}),
        ({"affinity": {"nodeAffinity": prefer_node("b", 1)}}, {"b1"}),
        (
            {"affinity": {"nodeAffinity": prefer_node("b", 1), **preferred("podAffinity", topologyKey=HOST)}},
            {"a1", "b1"},
        ),
        (spread(whenUnsatisfiable="ScheduleAnyway"), {"b1"}),
        (spread(whenUnsatisfiable="ScheduleAnyway", topologyKey="rack"), {"a2", "b1"}),
        (spread(whenUnsatisfiable="ScheduleAnyway", topologyKey=HOST), {"a2", "b1"}),
        ({"affinity": {"nodeAffinity": prefer_node("none", 1)}}, {"a2", "b1"}),
    ],
    ids=["apart", "near", "node", "near and node", "zones", "no such label", "hosts", "nowhere"],
)
def test_a_pod_goes_where_it_prefers_to_be(fields: JsonObject, expected: set[str]) -> None:
    on = three()
    put(on, "web", "a1")
    found = set()
    for number in range(3):
        found.add(put(on, f"x{number}", labels={}, **fields))
        on.release(("default", f"x{number}"))
    assert found <= expected


def test_a_preference_gives_way_to_room_and_to_rules() -> None:
    on = three()
    put(on, "web", "b1", **asking("2"))
    wanted: JsonObject = {"affinity": {"nodeAffinity": prefer_node("b", 100)}}
    assert put(on, "x", **wanted, **asking("1")) in {"a1", "a2"}
    assert put(on, "y", "a1", **wanted) == "a1"


def test_a_pod_avoids_taints_that_it_does_not_tolerate() -> None:
    on = three()
    for name, keys in (("a1", "xy"), ("a2", "y"), ("b1", "xyz")):
        taints = [{"key": key, "value": "1", "effect": "PreferNoSchedule"} for key in keys]
        size = {"allocatable": {"pods": "10"}}
        on.set_node(workload(name, status=size, taints=taints, metadata={"labels": {HOST: name}}))
    assert {put(on, f"x{number}") for number in range(4)} == {"a2"}
    tolerations = [{"key": key, "operator": "Exists"} for key in "xyz"]
    assert put(on, "tolerant", tolerations=tolerations) in {"a1", "b1"}, "and the emptiest of equal ones"


def asking(cpu: str) -> JsonObject:
    return {"containers": [{"name": "a", "resources": {"requests": {"cpu": cpu}}}]}


def test_pods_of_lower_priority_make_room() -> None:
    on = three()
    for name, node, priority in (("x", "a1", 10), ("y", "a2", 5), ("z", "b1", 7), ("tiny", "a2", 4)):
        cpu = "100m" if name == "tiny" else "1500m"
        assert put(on, name, node, priority=priority, **asking(cpu)) == node
    wanted = spec_of(priority=8, **asking("1500m"))
    assert on.victims(("default", "new"), wanted, {}) == ("a2", [("default", "y")])
    assert on.victims(("default", "new"), spec_of(priority=4, **asking("1500m")), {}) == ("", [])
    proud = spec_of(priority=8, preemptionPolicy="Never", **asking("1500m"))
    assert on.victims(("default", "new"), proud, {}) == ("", [])
    assert on.victims(("default", "new"), spec_of(priority=8, **asking("3")), {}) == ("", [])
    pinned = spec_of(priority=99, nodeSelector={"zone": "b"}, **asking("2"))
    assert on.victims(("default", "new"), pinned, {}) == ("b1", [("default", "z")])


def budget(allowed: int, labels: dict[str, str] = WEB, **status: Any) -> Workload:
    status = {"disruptionsAllowed": allowed, **status}
    return workload("kept", selector={"matchLabels": labels}, status=status)


def in_namespace(name: str, obj: Workload) -> Workload:
    return msgspec.structs.replace(obj, metadata=msgspec.structs.replace(obj.metadata, namespace=name))


@pytest.mark.parametrize(
    ("budgets", "expected"),
    [
        ([], ("a1", ["web"])),
        ([budget(0)], ("a2", ["other"])),
        ([budget(1)], ("a1", ["web"])),
        ([budget(0, disruptedPods={"web": "2026-11-17T11:59:00Z"})], ("a1", ["web"])),
        ([budget(0), budget(0, {"app": "other"})], ("a1", ["web"])),
        ([workload("empty", selector={}, status={"disruptionsAllowed": 0})], ("a1", ["web"])),
        ([in_namespace("other", budget(0))], ("a1", ["web"])),
    ],
    ids=["none", "exhausted", "one allowed", "charged already", "all violated", "empty selector", "other namespace"],
)
def test_a_budget_protects_pods_while_others_can_make_room(
    budgets: list[Workload], expected: tuple[str, list[str]]
) -> None:
    on = three()
    put(on, "web", "a1", priority=1, **asking("2"))
    put(on, "other", "a2", labels={"app": "other"}, priority=2, **asking("2"))
    put(on, "high", "b1", priority=99, **asking("2"))
    node, victims = on.victims(("default", "new"), spec_of(priority=8, **asking("2")), {}, budgets=budgets)
    assert (node, [name for _, name in victims]) == expected


def test_of_one_node_the_pods_of_a_budget_stay_beside_the_new_one_if_they_can() -> None:
    on = three()
    for name, priority, labels in (("old", 5, {"app": "other"}), ("web-1", 3, WEB), ("web-2", 3, WEB)):
        put(on, name, "a1", labels=labels, priority=priority, **asking("500m"))
    wanted = spec_of(priority=8, nodeSelector={HOST: "a1"}, **asking("1500m"))
    keys = [("default", each) for each in ("old", "web-1", "web-2")]
    assert on.victims(("default", "new"), wanted, {}, budgets=[budget(1)]) == ("a1", keys[:2])
    assert on.victims(("default", "new"), wanted, {}) == ("a1", keys[1:])


def test_pods_make_room_for_one_that_must_be_apart_from_them() -> None:
    on = three()
    for name, node in (("x", "a1"), ("y", "a2")):
        put(on, name, node, priority=1)
    put(on, "z", "b1", labels={}, priority=2, **apart())
    pinned = spec_of(priority=8, nodeSelector={"zone": "a"}, **apart("zone"))
    assert on.victims(("default", "new"), pinned, {}) == ("", []), "the other Pod is in the zone, too"
    averse = spec_of(priority=8, **apart())
    assert on.victims(("default", "new"), averse, {}) == ("a1", [("default", "x")])
    assert on.victims(("default", "new"), spec_of(priority=8, nodeSelector={HOST: "b1"}), WEB) == (
        "b1",
        [("default", "z")],
    )
    assert put(on, "new", "b1") == "", "a trial leaves no traces"


def test_pods_make_room_until_the_new_one_is_spread() -> None:
    on = three()
    put(on, "high", "b1", priority=9, **asking("1500m"))
    for name in ("low-1", "low-2", "low-3"):
        put(on, name, "a1", priority=1, **asking("500m"))
    put(on, "full", "a2", labels={}, priority=9, **asking("2"))
    medium = spec_of(priority=5, **asking("1"), **spread())
    assert on.victims(("default", "medium"), medium, WEB) == ("a1", [("default", "low-2"), ("default", "low-3")])


def test_pods_that_started_last_make_room() -> None:
    on = three()
    started = {"x": "2026-11-17T11:00:00Z", "y": "2026-11-17T12:00:00Z", "z": "2026-11-17T10:00:00Z"}
    for name, node in (("x", "a1"), ("y", "a2"), ("z", "b1")):
        put(on, name, node, **asking("2"))
    wanted = spec_of(priority=8, **asking("2"))
    found = on.victims(("default", "new"), wanted, {}, started=lambda key: started[key[1]])
    assert found == ("a2", [("default", "y")])


def test_a_preemption_compares_the_first_nodes_that_would_do() -> None:
    on = Scheduler()
    size = {"allocatable": {"pods": "10", "cpu": "2"}}
    for number in range(MOST_PLANS + 1):
        name = f"n{number:02}"
        on.set_node(workload(name, status=size, metadata={"labels": {HOST: name, "small": str(number < 3)}}))
        assert put(on, name, name, priority=MOST_PLANS + 1 - number, **asking("2")) == name
    least = f"n{MOST_PLANS - 1:02}"
    assert on.victims(("default", "new"), spec_of(priority=99, **asking("2")), {}) == (least, [("default", least)])
    pinned = spec_of(priority=99, nodeSelector={"small": "False"}, **asking("2"))
    last = f"n{MOST_PLANS:02}"
    assert on.victims(("default", "new"), pinned, {}) == (last, [("default", last)])


def test_the_priority_that_the_server_sets_counts() -> None:
    on = three()
    assert put(on, "x", "a1", **asking("2")) == "a1"
    on.observe(pod("x", spec={"nodeName": "a1", "priority": 50, **asking("2")}))
    pinned = spec_of(priority=8, nodeSelector={HOST: "a1"}, **asking("2"))
    assert on.victims(("default", "new"), pinned, {}) == ("", [])


def test_room_that_a_pod_waits_for_is_not_given_to_pods_of_lower_priority() -> None:
    on = three()
    for name, node in (("x", "a1"), ("y", "a2"), ("z", "b1")):
        assert put(on, name, node, **asking("2")) == node
    important = spec_of(priority=8, **asking("2"))
    node, victims = on.victims(("default", "new"), important, {})
    on.nominate(("default", "new"), node, important)
    assert on.release(victims[0])

    assert put(on, "replacement", **asking("2")) == ""
    assert "3 Insufficient cpu" in on.explain(("default", "replacement"), spec_of(**asking("2")), WEB)
    assert put(on, "more-important", priority=9, **asking("2")) == node
    assert on.release(("default", "more-important"))
    assert on.place(("default", "new"), important, {}) == node
    assert on.release(("default", "new"))
    assert put(on, "replacement", **asking("2")) == node


def test_two_pods_do_not_wait_for_the_same_room() -> None:
    on = three()
    for name, node in (("x", "a1"), ("y", "a2"), ("z", "b1")):
        assert put(on, name, node, **asking("2")) == node
    chosen = set()
    for name in ("first", "second", "third"):
        important = spec_of(priority=8, **asking("2"))
        node, _ = on.victims(("default", name), important, {})
        on.nominate(("default", name), node, important)
        chosen.add(node)
    assert chosen == {"a1", "a2", "b1"}
    assert on.victims(("default", "fourth"), spec_of(priority=8, **asking("2")), {}) == ("", [])


def test_a_more_important_pod_takes_the_room_that_another_waits_for() -> None:
    on = three()
    for name, node in (("x", "a1"), ("y", "a2"), ("z", "b1")):
        assert put(on, name, node, priority=1, **asking("2")) == node
    medium, high = (spec_of(priority=each, **asking("2")) for each in (5, 8))
    for name in ("m1", "m2", "m3"):
        node, _ = on.victims(("default", name), medium, {})
        assert on.nominate(("default", name), node, medium) == []
    assert on.victims(("default", "m4"), medium, {}) == ("", [])
    node, victims = on.victims(("default", "high"), high, {})
    assert (node, victims) == ("a1", [("default", "x")])
    assert on.nominate(("default", "high"), node, high) == [("default", "m1")]
    assert (on.nomination(("default", "high")), on.nomination(("default", "m1"))) == ("a1", "")
    stale = pod("m1", spec={"priority": 5, "nodeName": "", **asking("2")}, status={"nominatedNodeName": "a1"})
    on.observe(stale)
    assert on.nominate(("default", "high"), node, high) == [], "the watch was behind"
    assert on.victims(("default", "m1"), medium, {}) == ("", [])


def test_a_pod_takes_the_room_that_it_waits_for_before_any_other() -> None:
    on, spec, places = three(), spec_of(priority=8, **asking("1")), []
    for number in range(6):
        on.nominate(("default", f"x{number}"), "b1", spec)
        places.append(on.place(("default", f"x{number}"), spec, {}))
    assert places[:2] == ["b1", "b1"]
    assert sorted(places[2:]) == ["a1", "a1", "a2", "a2"]


def test_pods_that_wait_for_the_same_room_do_not_wait_for_each_other() -> None:
    on, spec = three(), spec_of(priority=8, **asking("2"))
    for name, node in (("x", "a1"), ("y", "a2")):
        assert put(on, name, node, priority=9, **asking("2")) == node
    for name in ("first", "second"):
        on.nominate(("default", name), "b1", spec)
    assert on.place(("default", "second"), spec, {}) == ""
    assert on.place(("default", "first"), spec, {}) == "b1"


def test_a_pod_waits_for_its_room_after_a_restart() -> None:
    on = three()
    waiting = {"priority": 8, "nodeName": "", **asking("2")}
    on.observe(pod("first", spec=waiting, status={"nominatedNodeName": "a1"}))
    assert {put(on, name, **asking("2")) for name in ("x", "y")} == {"a2", "b1"}
    assert put(on, "z", **asking("2")) == ""
    on.observe(pod("first", spec={**waiting, "nodeName": "a1"}))
    assert on.release(("default", "first"))
    assert put(on, "z", **asking("2")) == "a1"


def test_pods_of_one_workload_are_counted_once_and_not_with_each_placement() -> None:
    on = Scheduler()
    size = {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "3"}}
    for number in range(300):
        on.set_node(workload(f"n{number}", status=size, metadata={"labels": {HOST: f"n{number}"}}))
    matched = Counter[str]()

    class Labels(dict[str, str]):
        def get(self, key: str, default: str | None = None) -> str | None:  # type: ignore[override]
            matched[key] += 1
            return super().get(key, default)

    for number in range(300):
        assert put(on, str(number), labels=Labels(WEB), **apart())
    assert sum(matched.values()) < 300 * 10, "with each placement all others would be 45,000 and more"
