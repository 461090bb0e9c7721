"""The catalogue of services, as Pactos come, change and go."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.json import JsonObject, encode
from homeostat.operators.contracts.engine.graph.graph import MAX_EDGES, Node
from homeostat.operators.contracts.engine.services.catalogue import Catalogue
from homeostat.operators.contracts.engine.services.instance import Instance, read_instance
from homeostat.operators.contracts.engine.services.relations import (
    MOST_CYCLES,
    Dependent,
    dependents_of,
    graph_body,
    referenced_by,
    references_of,
    service_tree,
)

OCI = "oci://registry.example.org/contracts"


def dependents(catalogue: Catalogue, name: str) -> list[Dependent]:
    return [each for each in dependents_of(catalogue, name) if each is not None]


def instance(service: str, *requires: str, namespace: str = "prod", name: str = "", **status: Any) -> Instance:
    dependencies = [
        {"name": each, "ref": f"{OCI}/{each}", "required": True, "compatibility": "^1"} for each in requires
    ]
    contract = {"serviceName": service, "version": "1.0.0", **status.pop("contract", {})}
    whole = {"contractStatus": "Compliant", "contract": contract, "dependencies": dependencies, **status}
    return read_instance(namespace, name or service, status=encode(whole))


def catalogue_of(*instances: Instance) -> Catalogue:
    catalogue = Catalogue()
    for each in instances:
        catalogue.put(each)
    return catalogue


def listed(catalogue: Catalogue) -> dict[str, JsonObject]:
    return {each["name"]: each for each in msgspec.json.decode(catalogue.list_body())}


def nodes_of(catalogue: Catalogue) -> list[JsonObject]:
    """Of the graph; the order of edges is that of Pactos, which may have come in another one."""
    nodes: list[JsonObject] = msgspec.json.decode(graph_body(catalogue))["nodes"]
    for each in nodes:
        each["edges"].sort(key=lambda edge: edge["targetId"])
    return nodes


def test_an_entry_has_what_a_list_shows() -> None:
    conditions = [
        {"type": "ContractValid", "status": "True"},
        {"type": "PortsValid", "status": "False"},
        {"type": "ReadinessSatisfied", "status": "False"},
        {"type": "Ready", "status": "False"},
    ]
    shown = listed(
        catalogue_of(
            instance(
                "ledger",
                "rates",
                contractStatus="Warning",
                conditions=conditions,
                summary={"total": 2, "passed": 1, "failed": 1},
                ports={"missing": [8080]},
                readiness={"minScore": 80, "totalWeight": 10},
                contract={"owner": {"team": "finance"}},
            ),
            instance("shop", "ledger"),
        )
    )
    assert shown["ledger"] == {
        "name": "ledger",
        "version": "1.0.0",
        "owner": {"team": "finance"},
        "contractStatus": "Warning",
        "source": "k8s",
        "sources": ["k8s"],
        "namespace": "prod",
        "dependencyCount": 1,
        "checksPassed": 1,
        "checksTotal": 2,
        "checksFailed": 1,
        "complianceStatus": "WARNING",
        "complianceScore": 50,
        "complianceErrors": 0,
        "complianceWarnings": 1,
        "topInsight": "Contract has warnings",
        "updateAvailable": False,
        "instances": 1,
        "readiness": {"score": 0, "minScore": 80, "passing": False, "totalWeight": 10},
        "blastRadius": 1,
    }


def test_the_worst_pacto_stands_for_its_service() -> None:
    good, bad = instance("ledger", namespace="a"), instance("ledger", namespace="b", contractStatus="NonCompliant")
    catalogue = catalogue_of(good, bad)
    entry = listed(catalogue)["ledger"]
    assert (entry["namespace"], entry["contractStatus"], entry["instances"]) == ("b", "NonCompliant", 2)
    catalogue.remove(bad.key)
    assert listed(catalogue)["ledger"]["namespace"] == "a"
    catalogue.remove(good.key)
    assert listed(catalogue) == {}


def test_an_image_name_leads_to_its_service_until_a_service_has_that_name() -> None:
    ledger = instance("ledger", contract={"imageRef": "registry.example.org/fin/books:1"})
    shop = instance("shop", "books", "rates-pacto")
    catalogue = catalogue_of(shop, ledger)
    assert [catalogue.target_of(each.ref) for each in shop.dependencies] == ["ledger", "rates"]
    assert listed(catalogue)["ledger"]["blastRadius"] == 1
    assert [each.name for each in dependents(catalogue, "ledger")] == ["shop"]
    books = instance("books")
    catalogue.put(books)
    assert {name: each["blastRadius"] for name, each in listed(catalogue).items()} == {
        "books": 1,
        "ledger": 0,
        "shop": 0,
    }
    assert dependents(catalogue, "ledger") == []
    catalogue.remove(books.key)
    assert listed(catalogue)["ledger"]["blastRadius"] == 1


def test_a_pacto_whose_contract_gets_another_name_moves() -> None:
    catalogue = catalogue_of(instance("ledger", name="x"))
    catalogue.put(instance("books", name="x"))
    assert list(listed(catalogue)) == ["books"]


def test_a_newer_version_is_an_update() -> None:
    catalogue = catalogue_of(instance("ledger"))
    catalogue.set_latest(("prod", "ledger"), "v1.1.0")
    assert listed(catalogue)["ledger"]["updateAvailable"] is True
    catalogue.set_latest(("prod", "ledger"), "")
    assert listed(catalogue)["ledger"]["updateAvailable"] is False


def test_a_status_that_does_not_match_says_nothing() -> None:
    found = read_instance("prod", "x", status=b'{"contract": 7}', target="ledger")
    assert (found.service, found.status, found.compliance.status) == ("ledger", "Unknown", "WARNING")


def test_the_graph_has_external_nodes_for_what_no_pacto_has() -> None:
    shop = instance(
        "shop",
        "ledger",
        configurations=[{"name": "app", "ref": f"{OCI}/defaults:1.0.0"}],
        policies=[{"name": "own", "ref": f"{OCI}/shop"}],
        dependencies=[
            {"name": "l", "ref": f"{OCI}/ledger", "required": True},
            {"name": "m", "ref": "../mail", "required": False},
        ],
    )
    nodes = {each["id"]: each for each in nodes_of(catalogue_of(shop, instance("ledger")))}
    assert list(nodes) == ["ledger", "shop", "defaults", "mail"]
    assert [(each["targetId"], each["type"], each["resolved"]) for each in nodes["shop"]["edges"]] == [
        ("defaults", "reference", False),
        ("ledger", "dependency", True),
        ("mail", "dependency", False),
    ]
    assert [(nodes[each]["status"], nodes[each]["reason"]) for each in ("ledger", "defaults", "mail")] == [
        ("Compliant", ""),
        ("external", ""),
        ("external", "non_oci_ref"),
    ]


def test_references_are_shown_from_both_ends() -> None:
    shop = instance("shop", policies=[{"name": "base", "ref": f"{OCI}/baseline:2.0.0"}])
    catalogue = catalogue_of(shop, instance("baseline", contractStatus="Reference"))
    outgoing = references_of(catalogue, catalogue.services["shop"])
    incoming = [each for each in referenced_by(catalogue, "baseline") if each is not None]
    assert [(each.name, each.ref_type, each.contract_status) for each in outgoing] == [
        ("baseline", "policy", "Reference")
    ]
    assert [(each.name, each.ref_type, each.contract_status) for each in incoming] == [("shop", "policy", "Compliant")]


def test_a_tree_shares_what_occurs_again_and_reports_a_cycle_once() -> None:
    catalogue = catalogue_of(
        instance("a", "b", "c"), instance("b", "d"), instance("c", "d", "gone"), instance("d", "a")
    )
    tree = service_tree(catalogue, catalogue.services["a"])
    b, c = tree.root.dependencies
    assert b.node is not None
    assert c.node is not None
    assert (b.node.dependencies[0].shared, c.node.dependencies[0].shared) == (False, True)
    assert c.node.dependencies[1].error.startswith("not resolved")
    assert tree.cycles == [["a", "b", "d", "a"]]


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["p", "q", "r", "s"]),
        st.sampled_from(["a", "b", "c", ""]),
        st.sets(st.sampled_from(["a", "b", "c", "img-a", "img-b"]), max_size=3),
        st.sampled_from(["", "img-a", "img-b"]),
    ),
    max_size=20,
)


@given(STEPS)
def test_a_catalogue_that_was_changed_equals_a_new_one(
    steps: list[tuple[str, str, set[str], str]],
) -> None:
    changed, there = Catalogue(), dict[str, Instance]()
    for name, service, requires, image in steps:
        if not service:
            there.pop(name, None)
            changed.remove(("prod", name))
            continue
        contract = {"imageRef": f"registry.example.org/{image}:1"} if image else {}
        there[name] = instance(service, *sorted(requires), name=name, contract=contract)
        changed.put(there[name])
        changed.list_body()
        graph_body(changed)
    anew = catalogue_of(*there.values())
    assert listed(changed) == listed(anew)
    assert nodes_of(changed) == nodes_of(anew)
    assert {each: dependents(changed, each) for each in "abc"} == {each: dependents(anew, each) for each in "abc"}
    if not there:
        assert changed._users == changed._owners == {}


class CountingCatalogue(Catalogue):
    """Counts how often it finds out which service a name means."""

    def __init__(self) -> None:
        self.asked = 0
        super().__init__()

    def _target(self, segment: str) -> str:
        self.asked += 1
        return super()._target(segment)


def test_services_that_all_require_each_other_are_put_in_steps_in_proportion_to_their_dependencies() -> None:
    catalogue, names = CountingCatalogue(), [f"s{at}" for at in range(80)]
    for name in names:
        catalogue.put(instance(name, *names))
    assert catalogue.radius("s1") == 79
    assert catalogue.asked < 2 * len(names) ** 2


def test_a_tree_of_services_that_all_require_each_other_ends_at_a_number_of_edges() -> None:
    names = [f"s{at}" for at in range(120)]
    catalogue = catalogue_of(*(instance(name, *names) for name in names))
    first = catalogue.get("s0")
    assert first is not None
    graph = service_tree(catalogue, first)
    assert len(graph.cycles) == MOST_CYCLES
    assert MAX_EDGES < edges_below(graph.root) < MAX_EDGES + 200


def edges_below(node: Node) -> int:
    return sum(1 + (edges_below(each.node) if each.node is not None else 0) for each in node.dependencies)
