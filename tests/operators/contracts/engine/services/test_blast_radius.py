"""Blast radii that are kept are those that a search from scratch finds, whatever changes in between."""

from __future__ import annotations

from time import thread_time

from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.contracts.engine.services.blast_radius import BlastRadius
from homeostat.operators.contracts.engine.services.components import components
from tests.examples import examples

NAMES = [f"s{each}" for each in range(9)]
EDGES = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sets(st.sampled_from(NAMES), max_size=3), st.booleans()), max_size=30
)


def test_a_radius_counts_direct_and_transitive_dependents() -> None:
    reach = BlastRadius()
    reach.require("shop", {"ledger"})
    reach.require("report", {"shop"})
    reach.require("ledger", {"rates"})
    assert {each: reach.radius(each) for each in ("rates", "ledger", "shop", "report", "nobody")} == {
        "rates": 3,
        "ledger": 2,
        "shop": 1,
        "report": 0,
        "nobody": 0,
    }


def test_members_of_a_cycle_affect_each_other_and_not_themselves() -> None:
    reach = BlastRadius()
    reach.require("a", {"b"})
    reach.require("b", {"a"})
    reach.require("c", {"a"})
    assert (reach.radius("a"), reach.radius("b"), reach.radius("c")) == (2, 2, 0)


def test_a_service_that_requires_itself_affects_nobody() -> None:
    reach = BlastRadius()
    reach.require("a", {"a"})
    assert reach.radius("a") == 0


@given(EDGES, st.sampled_from([-20, 1000]))
@examples(300)
def test_kept_radii_equal_those_of_a_search(changes: list[tuple[str, set[str], bool]], spare: int) -> None:
    kept = BlastRadius(spare=spare)
    shown = dict.fromkeys(NAMES, 0)
    for service, targets, refreshes in changes:
        kept.require(service, targets)
        if refreshes:
            shown |= {each: kept.radius(each) for each in kept.refresh() & {*NAMES}}
            assert shown == {each: len(kept.affected(each)) for each in NAMES}
        assert [kept.radius(each) for each in NAMES] == [len(kept.affected(each)) for each in NAMES]


@given(EDGES)
@examples(300)
def test_steps_lead_to_all_that_are_affected_and_each_is_one_further_than_another(
    changes: list[tuple[str, set[str], bool]],
) -> None:
    kept = BlastRadius()
    for service, targets, _ in changes:
        kept.require(service, targets)
    requires = {service: targets - {service} for service, targets, _ in changes}
    for name in NAMES:
        steps = kept.steps_to(name)
        assert steps.keys() == kept.affected(name)
        assert list(steps) == sorted(steps, key=lambda each: (steps[each], each))
        for service, count in steps.items():
            assert count == 1 + min({name: 0, **steps}.get(each, count) for each in requires[service])


@given(st.dictionaries(st.sampled_from(NAMES), st.lists(st.sampled_from(NAMES), max_size=3)))
def test_components_come_after_what_they_lead_to(edges: dict[str, list[str]]) -> None:
    found = list(components(edges))
    place = {name: at for at, each in enumerate(found) for name in each}
    assert sorted(name for each in found for name in each) == sorted({*edges, *(t for e in edges.values() for t in e)})
    assert all(place[target] <= place[name] for name, targets in edges.items() for target in targets)


def test_ten_thousand_radii_take_less_than_a_second_of_cpu_time() -> None:
    reach = BlastRadius()
    for at in range(10_000):
        reach.require(f"s{at}", {f"s{at // 2}", f"s{at // 3}", f"s{at % 50}"})
    began = thread_time()
    reach.refresh()
    assert thread_time() - began < 1.0
    assert reach.radius("s1") > 5000


def test_steps_through_a_graph_in_which_all_require_all_take_time_in_proportion_to_its_edges() -> None:
    reach, names = BlastRadius(), {f"s{at}" for at in range(1000)}
    for name in names:
        reach.require(name, names)
    began = thread_time()
    assert set(reach.steps_to("s1").values()) == {1}
    assert thread_time() - began < 1.0


def test_names_that_nobody_requires_any_more_are_forgotten() -> None:
    reach = BlastRadius(spare=0)
    for at in range(20):
        reach.require("shop", {f"x{at}-{each}" for each in range(50)})
        reach.refresh()
        assert reach.radius(f"x{at}-1") == 1
    reach.require("shop", ())
    reach.refresh()
    kept = (reach._leaves, reach._stale, reach._requires, reach._required_by)
    assert [len(each) for each in kept] == [0, 0, 0, 0]
    assert not any(reach._reached.values())
