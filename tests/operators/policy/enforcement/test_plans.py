"""Plans that are kept up Pod by Pod."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.views.workload import OwnerKey
from homeostat.operators.policy.enforcement.patch import PARTS, Injection
from homeostat.operators.policy.enforcement.plan import Plan
from homeostat.operators.policy.enforcement.plans import Plans

owners = st.builds(OwnerKey, st.just("Deployment"), st.just("shop"), st.sampled_from(["web", "api", "db"]))
injections = st.dictionaries(
    st.sampled_from(["main", "side"]), st.frozensets(st.sampled_from(PARTS), min_size=1), min_size=1
)
lacks = st.builds(lambda owner, wanted: Plan(owner, tuple(map(Injection, wanted, wanted.values()))), owners, injections)
changes = st.lists(st.tuples(st.sampled_from("abcdef"), st.none() | lacks), max_size=30)
Told = list[tuple[str, dict[str, set[str]]]]


def expected(held: dict[str, Plan]) -> Told:
    wanted: dict[str, dict[str, set[str]]] = {}
    for plan in held.values():
        for each in plan.injections:
            wanted.setdefault(str(plan.owner), {}).setdefault(each.container, set()).update(each.parts)
    return sorted(wanted.items())


def told(plans: Plans) -> Told:
    return [(str(each.owner), {one.container: set(one.parts) for one in each.injections}) for each in plans.all()]


@given(changes)
def test_there_is_one_plan_a_workload_with_what_any_of_its_pods_lacks(given: list[tuple[str, Plan | None]]) -> None:
    plans, held = Plans(), dict[str, Plan]()
    for pod, plan in given:
        plans.put(pod, plan)
        held.pop(pod, None)
        if plan is not None:
            held[pod] = plan
        assert told(plans) == expected(held)


@given(changes)
def test_pods_that_lack_nothing_more_leave_no_trace(given: list[tuple[str, Plan | None]]) -> None:
    plans = Plans()
    for pod, plan in (*given, *((pod, None) for pod, _ in given)):
        plans.put(pod, plan)
    assert plans.all() == ()


@given(st.dictionaries(st.sampled_from("abcdef"), lacks), st.randoms())
def test_the_order_in_which_pods_come_does_not_matter(held: dict[str, Plan], chance: Random) -> None:
    first, second = Plans(), Plans()
    shuffled = chance.sample(list(held.items()), len(held))
    for plans, pods in ((first, list(held.items())), (second, shuffled)):
        for pod, plan in pods:
            plans.put(pod, plan)
    assert first.all() == second.all()


def test_what_did_not_change_is_not_made_again() -> None:
    owner = OwnerKey("Deployment", "shop", "web")
    plans = Plans()
    plans.put("a", Plan(owner, (Injection("main", frozenset({"resources"})),)))
    before = plans.all()
    plans.put("a", Plan(owner, (Injection("main", frozenset({"resources"})),)))
    plans.put("b", None)
    assert plans.all() is before
