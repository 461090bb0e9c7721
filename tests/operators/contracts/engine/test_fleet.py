"""Many contracts together."""

from __future__ import annotations

from homeostat.operators.contracts.engine.document.contract import Contract, Dependency, Service
from homeostat.operators.contracts.engine.fleet import (
    affected_by,
    broken_by,
    can_deploy,
    dependency_target,
)


def _contract(name: str, *needs: tuple[str, str, bool]) -> Contract:
    dependencies = tuple(
        Dependency(name=target, ref=f"oci://r.test/c/{target}:1.0.0", compatibility=wanted, required=required)
        for target, wanted, required in needs
    )
    return Contract(service=Service(name=name, version="1.0.0"), dependencies=dependencies)


def test_every_dependency_that_does_not_match_is_an_obstacle() -> None:
    contract = _contract(
        "mill", ("weir", "^1", True), ("gate", "^2", True), ("lock", "*", False), ("sluice", "1", True)
    )
    found = can_deploy(contract, {"weir": ["1.4.0"], "gate": ["1.9.0"], "sluice": ["latest"]})
    assert [(each.dependency, each.reason, each.is_required) for each in found] == [
        ("gate", "Incompatible", True),
        ("lock", "NotRunning", False),
        ("sluice", "Incompatible", True),
    ]
    assert str(found[0]) == "mill needs gate ^2; 1.9.0 runs"


def test_each_version_that_runs_has_to_fit() -> None:
    found = can_deploy(_contract("mill", ("weir", "^1", True)), {"weir": ["2.0.0", "1.4.0", "0.9.0"]})
    assert [each.running for each in found] == ["0.9.0", "2.0.0"]


def test_a_service_is_affected_over_its_nearest_way_of_required_dependencies() -> None:
    contracts = [
        _contract("a", ("base", "*", True)),
        _contract("b", ("a", "*", True), ("base", "*", False)),
        _contract("c", ("b", "*", False)),
        _contract("d", ("c", "*", True)),
        _contract("base", ("d", "*", True)),
    ]
    found = [(each.service, each.via, each.distance, each.is_required) for each in affected_by("base", contracts)]
    assert found == [("a", "base", 1, True), ("b", "a", 2, True), ("c", "b", 3, False), ("d", "c", 4, False)]


def test_a_new_version_breaks_those_that_exclude_it() -> None:
    contracts = [_contract("a", ("weir", "^1", True)), _contract("b", ("weir", ">=1", False)), _contract("weir")]
    assert [each.service for each in broken_by("weir", "2.0.0", contracts)] == ["a"]
    assert broken_by("weir", "1.5.0", contracts) == []


def test_a_change_reaches_those_that_need_the_service_over_others() -> None:
    contracts = [
        _contract("a", ("b", "*", True)),
        _contract("b", ("c", "*", True)),
        _contract("c", ("a", "*", True)),
        _contract("d", ("c", "*", False)),
    ]
    assert {each.service for each in affected_by("c", contracts) if each.is_required} == {"a", "b"}
    assert affected_by("nobody", contracts) == []


def test_a_reference_means_a_service() -> None:
    assert dependency_target(Dependency(ref="oci://r.test/c/weir-pacto@sha256:1")) == "weir"
    assert dependency_target(Dependency(ref="../weir-img"), {"weir-img": "weir"}) == "weir"
