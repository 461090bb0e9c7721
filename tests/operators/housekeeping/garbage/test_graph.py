"""The pure half of garbage collection: the graph, the verdicts, and both together driven to a fixed point."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.kind import Kind
from homeostat.operators.housekeeping.garbage.decide import Delete, Keep, Release, Verdict, decide
from homeostat.operators.housekeeping.garbage.graph import Graph, Node, Phase, Ref, Standing, node_of
from homeostat.operators.housekeeping.metadata.kinds import by_key, is_followed, kind_key
from homeostat.operators.housekeeping.metadata.metadata import Metadata, Partial
from homeostat.runtime.cache.decoding import Projection

CONFIGMAP = kind_key("v1", "ConfigMap")
GRAPH = Graph.put.__code__.co_filename
SOLID, WAITING, DANGLING, UNKNOWN = Standing.SOLID, Standing.WAITING, Standing.DANGLING, Standing.UNKNOWN


def ref(uid: str, *, blocks: bool = False) -> Ref:
    return Ref(uid, CONFIGMAP, f"name-{uid}", blocks)


def node(uid: str, *owners: Ref, phase: Phase = Phase.ALIVE, namespace: str = "default") -> Node:
    return Node(CONFIGMAP, namespace, f"name-{uid}", phase, owners)


@pytest.mark.parametrize(
    ("standings", "dependents", "verdict"),
    [
        ([], {}, Keep()),
        ([SOLID], {}, Keep()),
        ([SOLID, UNKNOWN], {}, Keep()),
        ([SOLID, DANGLING], {}, Release(frozenset({"1"}))),
        ([SOLID, WAITING, DANGLING], {}, Release(frozenset({"1", "2"}))),
        ([DANGLING, UNKNOWN], {}, Release(frozenset({"0"}))),
        ([DANGLING], {}, Delete("Background")),
        ([DANGLING, DANGLING], {"x": Phase.ALIVE}, Delete("Background")),
        ([WAITING], {}, Delete("Background")),
        ([WAITING], {"x": Phase.ALIVE}, Delete("Foreground")),
        ([WAITING, DANGLING], {"x": Phase.FOREGROUND}, Delete("Foreground", unblock=True)),
    ],
)
def test_a_verdict_depends_on_what_the_owners_are(
    standings: list[Standing], dependents: dict[str, Phase], verdict: Verdict
) -> None:
    owners = {ref(str(index)): standing for index, standing in enumerate(standings)}
    assert decide(owners, finalizers=(), dependents=dependents) == verdict


@pytest.mark.parametrize(
    ("finalizers", "policy"),
    [(("x",), "Background"), (("foregroundDeletion", "x"), "Foreground"), (("orphan",), "Orphan")],
)
def test_an_object_asks_by_its_finalizers_how_its_dependents_are_treated(
    finalizers: tuple[str, ...], policy: str
) -> None:
    verdict = decide({ref("0"): DANGLING}, finalizers=finalizers, dependents={})
    assert isinstance(verdict, Delete)
    assert verdict.policy == policy


def test_an_object_without_owners_costs_nothing() -> None:
    graph = Graph()
    assert graph.put("a", node("a")) == set()
    assert len(graph) == 0


def test_an_owner_never_seen_is_to_be_read_once() -> None:
    graph = Graph()
    assert graph.put("b", node("b", ref("a"))) == {"a"}
    assert graph.put("c", node("c", ref("a"))) == set()
    assert graph.standing(ref("a"), "default") is UNKNOWN


def test_dependents_are_checked_when_their_owner_goes() -> None:
    graph = Graph()
    graph.put("b", node("b", ref("a")))
    graph.put("a", node("a"))
    assert graph.standing(ref("a"), "default") is SOLID
    assert graph.remove("a") == {"b"}
    assert graph.standing(ref("a"), "default") is DANGLING


def test_a_foreground_owner_is_checked_with_its_dependents_and_later_alone() -> None:
    graph = Graph()
    graph.put("b", node("b", ref("a", blocks=True)))
    assert graph.put("a", node("a", phase=Phase.FOREGROUND)) == {"a", "b"}
    assert graph.blockers("a") == ["b"]
    assert graph.remove("b") == {"a"}
    assert graph.blockers("a") == []


def test_an_object_does_not_block_itself() -> None:
    graph = Graph()
    graph.put("a", node("a", ref("a", blocks=True), phase=Phase.FOREGROUND))
    assert graph.blockers("a") == []
    graph.remove("a")
    assert len(graph) == 0


def test_a_dependent_in_another_namespace_does_not_block_its_owner() -> None:
    graph = Graph()
    graph.put("b", node("b", ref("a", blocks=True), namespace="elsewhere"))
    graph.put("c", node("c", ref("a", blocks=True)))
    graph.put("a", node("a", phase=Phase.FOREGROUND))
    assert (graph.dependents("a"), graph.blockers("a")) == (["c"], ["c"])
    assert graph.is_stranger("b", "a")
    assert not graph.is_stranger("c", "a")


def steps_for(owners: int) -> int:
    """Lines of the graph that run until the owners of one object have each been checked for what blocks them."""
    graph = Graph()
    lines = 0

    def count(frame: FrameType, event: str, _: object) -> Any:
        nonlocal lines
        lines += event == "line" and frame.f_code.co_filename == GRAPH
        return count

    names = [str(each) for each in range(owners)]
    former = sys.gettrace()
    sys.settrace(count)
    try:
        graph.put("x", node("x", *(ref(each, blocks=True) for each in names)))
        for each in names:
            graph.put(each, node(each, phase=Phase.FOREGROUND))
        assert [graph.blockers(each) for each in names] == [["x"]] * owners
        graph.put("x", node("x"))
    finally:
        sys.settrace(former)
    return lines


def test_the_work_grows_with_the_number_of_owners_and_not_with_its_square() -> None:
    assert steps_for(400) < 2.5 * steps_for(200)


@pytest.mark.parametrize(
    ("namespace", "standing"), [("default", SOLID), ("elsewhere", UNKNOWN), ("", UNKNOWN)], ids=["same", "other", "no"]
)
def test_an_owner_is_one_only_for_its_own_namespace(namespace: str, standing: Standing) -> None:
    graph = Graph()
    graph.put("b", node("b", ref("a")))
    graph.put("a", node("a"))
    assert graph.standing(ref("a"), namespace) is standing


def test_what_was_seen_of_a_kind_is_known_and_what_was_only_named_is_not() -> None:
    graph = Graph()
    graph.put("b", node("b", ref("a")))
    graph.put("c", node("c", ref("a")))
    assert graph.seen(CONFIGMAP) == {"b", "c"}
    assert graph.seen("Pod.") == set()


def test_a_kind_that_is_not_served_any_more_leaves_its_owners_unverified() -> None:
    graph = Graph()
    graph.put("b", Node("Pod.", "default", "b", Phase.ALIVE, (ref("a"),)))
    graph.put("a", node("a", ref("z")))
    graph.unsettle(CONFIGMAP)
    assert graph.standing(ref("a"), "default") is UNKNOWN
    assert graph.dependents("a") == ["b"]
    assert graph.get("z") is None


def test_an_object_becomes_a_node() -> None:
    body = (
        b'{"kind":"PartialObjectMetadata","metadata":{"name":"r","namespace":"n","uid":"u","resourceVersion":"7",'
        b'"labels":{"a":"b"},"deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["x","foregroundDeletion"],'
        b'"ownerReferences":[{"apiVersion":"apps/v1","kind":"Deployment","name":"d","uid":"o",'
        b'"controller":true,"blockOwnerDeletion":true}]}}'
    )
    found = node_of("ReplicaSet.apps", Projection(Partial).object(body).metadata)
    owner = Ref("o", "Deployment.apps", "d", blocks=True)
    assert found == Node("ReplicaSet.apps", "n", "r", Phase.FOREGROUND, (owner,))


def test_metadata_with_nulls_is_read() -> None:
    body = b'{"metadata":{"name":"a","uid":"u","resourceVersion":"7","finalizers":null,"ownerReferences":null}}'
    assert Projection(Partial).object(body).metadata == Metadata(name="a", uid="u", resource_version="7")


def test_of_several_versions_the_preferred_one_is_taken() -> None:
    verbs = frozenset({"list", "watch", "delete"})
    newer = Kind("autoscaling", "v2", "hpas", "HPA", is_namespaced=True, verbs=verbs)
    older = Kind("autoscaling", "v1", "hpas", "HPA", is_namespaced=True)
    assert by_key([newer, older]) == {"HPA.autoscaling": newer}
    assert (is_followed(newer), is_followed(older)) == (True, False)


class Model:
    """A world without a server: objects, the events of them that are not read yet, and a collector's moves."""

    def __init__(self) -> None:
        self.objects: dict[str, Node] = {}
        self.unread: list[tuple[str, Node | None]] = []
        self.graph = Graph()
        self.visits: set[str] = set()
        self.wrongly_deleted: list[str] = []
        self.absent: set[str] = set()
        """Uids that were read and not found: none of them can be given to an object any more."""

    def write(self, uid: str, obj: Node | None) -> None:
        if obj is None:
            self.objects.pop(uid, None)
        else:
            self.objects[uid] = obj
        self.unread.append((uid, obj))

    def read(self, count: int) -> None:
        for uid, obj in self.unread[:count]:
            copied = None if obj is None else node_copy(obj)
            self.visits |= self.graph.remove(uid) if copied is None else self.graph.put(uid, copied)
        del self.unread[:count]

    def live(self, owner: Ref, namespace: str) -> Standing:
        found = self.objects.get(owner.uid)
        is_owner = found is not None and found.name == owner.name and found.namespace == namespace
        return SOLID if is_owner else DANGLING

    def look(self) -> None:
        uid = min(self.visits)
        self.visits.discard(uid)
        known = self.graph.get(uid)
        if known is None:
            return
        found = self.objects.get(uid)
        if known.phase is Phase.UNVERIFIED:
            if found is None:
                self.absent.add(uid)
            is_it = found is not None and (found.namespace, found.name) == (known.namespace, known.name)
            self.visits |= self.graph.put(uid, node_copy(found)) if found and is_it else self.graph.remove(uid)
        elif known.phase is Phase.ALIVE and found is not None:
            self.judge(uid, found)

    def judge(self, uid: str, found: Node) -> None:
        standings = {}
        for each in found.owners:
            known = self.graph.standing(each, found.namespace)
            standings[each] = self.live(each, found.namespace) if known is UNKNOWN else known
        match decide(standings, finalizers=(), dependents={}):
            case Delete():
                if any(self.live(each, found.namespace) is SOLID for each in found.owners):
                    self.wrongly_deleted.append(uid)
                self.write(uid, None)
            case Release(owners):
                left = tuple(each for each in found.owners if each.uid not in owners)
                self.write(uid, Node(found.kind, found.namespace, found.name, Phase.ALIVE, left))

    def settle(self) -> int:
        """Read and look until nothing is left to do; how many steps that took."""
        steps = 0
        while self.unread or self.visits:
            self.read(len(self.unread))
            if self.visits:
                self.look()
            steps += 1
            assert steps < 1000
        return steps


def node_copy(obj: Node) -> Node:
    return Node(obj.kind, obj.namespace, obj.name, obj.phase, obj.owners)


UIDS = "abcdefg"
Step = tuple[str, str, list[str], str]
OWNERS = st.lists(st.sampled_from(UIDS + "?"), max_size=3, unique=True)
WRITES = st.tuples(st.just("write"), st.sampled_from(UIDS), OWNERS, st.sampled_from(["x", "x", "y"]))
DELETES: st.SearchStrategy[Step] = st.tuples(st.just("delete"), st.sampled_from(UIDS), st.just([]), st.just(""))
READS: st.SearchStrategy[Step] = st.tuples(st.just("read"), st.just(""), st.just([]), st.just(""))
LOOKS: st.SearchStrategy[Step] = st.tuples(st.just("look"), st.just(""), st.just([]), st.just(""))


def act(model: Model, gone: set[str], step: Step) -> None:
    verb, uid, owners, namespace = step
    match verb:
        case "write" if uid not in gone:
            former = model.objects.get(uid)
            where = former.namespace if former else namespace
            model.write(uid, node(uid, *(ref(each) for each in owners), namespace=where))
        case "delete" if uid in model.objects:
            model.write(uid, None)
        case "read":
            model.read(2)
        case "look" if model.visits:
            model.look()
    gone |= {each for each, obj in model.unread if obj is None} | model.absent  # A uid is never given twice.


@given(st.lists(st.one_of(WRITES, WRITES, DELETES, READS, LOOKS), max_size=30))
def test_acting_reaches_a_world_in_which_every_owned_object_has_an_owner(steps: list[Step]) -> None:
    model, gone = Model(), set[str]()
    for step in steps:
        act(model, gone, step)
    model.settle()
    for uid, obj in model.objects.items():
        assert all(model.live(each, obj.namespace) is SOLID for each in obj.owners), uid
    assert model.wrongly_deleted == []
    assert_links(model.graph, model.objects)


@given(st.lists(st.one_of(WRITES, DELETES, READS), max_size=30))
def test_a_graph_whose_objects_have_all_gone_is_empty(steps: list[Step]) -> None:
    model, gone = Model(), set[str]()
    for step in steps:
        act(model, gone, step)
    for uid in list(model.objects):
        model.write(uid, None)
    model.read(len(model.unread))
    assert len(model.graph) == 0


def assert_links(graph: Graph, objects: dict[str, Node]) -> None:
    """Each dependent is among its owners' dependents, and nowhere else."""
    for uid, obj in objects.items():
        for each in obj.owners:
            assert uid in graph.dependents(each.uid)
    for uid in (*UIDS, "?"):
        for dependent in graph.dependents(uid):
            assert any(each.uid == uid for each in objects[dependent].owners)
