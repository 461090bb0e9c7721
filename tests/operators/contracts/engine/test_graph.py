"""The graph of dependencies: sharing, cycles, conflicts and how it is shown."""

from __future__ import annotations

from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.document.contract import Contract, Dependency, Policy, Service
from homeostat.operators.contracts.engine.graph.difference import compare_graphs, render_difference
from homeostat.operators.contracts.engine.graph.graph import Graph, resolve
from homeostat.operators.contracts.engine.graph.render import render_graph, short_ref


def _contract(name: str, version: str, *refs: str) -> Contract:
    dependencies = tuple(Dependency(name=ref, ref=f"../{ref}", compatibility="*") for ref in refs)
    return Contract(service=Service(name=name, version=version), dependencies=dependencies)


def _graph(root: Contract, *others: Contract) -> Graph:
    fetched: dict[str, Bundle | Unresolved] = {
        f"../{each.service.name}": Bundle(each, {}) for each in others if each is not root
    }
    found = resolve(root, fetched)
    assert found.missing == ()
    return found.graph


def test_references_that_were_not_fetched_are_named_once() -> None:
    found = resolve(_contract("a", "1", "b", "c", "b"), {})
    assert [each.ref for each in found.missing] == ["../b", "../c"]


def test_a_second_edge_to_a_service_is_shared() -> None:
    graph = _graph(
        _contract("a", "1", "b", "c"), _contract("b", "1", "d"), _contract("c", "1", "d"), _contract("d", "1")
    )
    assert render_graph(graph) == (
        "a@1\n├─ b@1 [local]\n│  └─ d@1 [local]\n└─ c@1 [local]\n   └─ d@1 [local] (shared)\n"
    )


def test_a_cycle_is_reported_once() -> None:
    graph = _graph(_contract("a", "1", "b"), _contract("b", "1", "c"), _contract("c", "1", "b"))
    assert graph.cycles == [["a", "../b", "../c", "../b"]]
    assert "(error: cycle detected: ../b)" in render_graph(graph)
    assert render_graph(graph).endswith("\nCycles (1):\n  a -> ../b -> ../c -> ../b\n")


def test_versions_in_conflict_are_in_their_order() -> None:
    root = _contract("a", "1", "x", "y")
    fetched: dict[str, Bundle | Unresolved] = {
        "../x": Bundle(_contract("w", "10.0.0"), {}),
        "../y": Bundle(_contract("w", "9.0.0"), {}),
    }
    graph = resolve(root, fetched).graph
    assert [(each.name, each.versions) for each in graph.conflicts] == [("w", ["w@9.0.0", "w@10.0.0"])]


def test_a_dependency_that_cannot_be_read_is_an_error_of_its_edge() -> None:
    graph = resolve(_contract("a", "1", "b"), {"../b": Unresolved("not there")}).graph
    assert render_graph(graph) == "a@1\n└─ b (error: not there)\n"


def test_references_are_edges_of_the_root_that_are_not_fetched() -> None:
    contract = Contract(
        service=Service(name="a", version="1"),
        dependencies=(Dependency(ref="../b"),),
        policies=(
            Policy(name="p", ref="oci://registry.test/p/rules:1.0.0"),
            Policy(name="again", ref="oci://registry.test/p/rules:1.0.0"),
            Policy(name="q", schema="q.json"),
        ),
    )
    only = resolve(contract, {}, references="only")
    assert only.missing == ()
    assert render_graph(only.graph) == "a@1\n└─ rules:1.0.0 [ref]\n"
    both = resolve(contract, {"../b": Unresolved("x")}, references="with")
    assert [edge.type for edge in both.graph.root.dependencies] == ["dependency", "reference"]


def test_a_chain_without_end_is_cut() -> None:
    fetched: dict[str, Bundle | Unresolved] = {
        f"../s{count}": Bundle(_contract(f"s{count}", "1", f"s{count + 1}"), {}) for count in range(300)
    }
    assert "levels" in render_graph(resolve(_contract("a", "1", "s0"), fetched).graph)


def test_graphs_are_compared_level_by_level() -> None:
    old = _graph(_contract("a", "1", "b", "c"), _contract("b", "1", "d"), _contract("c", "1"), _contract("d", "1"))
    new = _graph(_contract("a", "2", "b", "e"), _contract("b", "1", "d"), _contract("d", "2"), _contract("e", "1"))
    difference = compare_graphs(old, new)
    assert [(each.name, each.change_type) for each in difference.changes] == [
        ("c", "removed"),
        ("d", "version_changed"),
        ("e", "added"),
    ]
    assert render_difference(difference) == (
        "a\n├─ b\n│  └─ d             1 → 2\n├─ e             +1\n└─ c             -1\n"
    )


def test_equal_graphs_have_no_difference() -> None:
    graph = _graph(_contract("a", "1", "b"), _contract("b", "1"))
    assert render_difference(compare_graphs(graph, graph)) == ""


def test_a_digest_is_cut() -> None:
    assert short_ref("oci://r/x/weir@sha256:0123456789abcdef") == "weir@sha256:0123456"
