"""The running sum: order does not matter, what is removed leaves no trace, and nothing is summed twice."""

from math import inf

from hypothesis import given, settings
from hypothesis import strategies as st

from homeostat.operators.policy.engine.check import CHECKS, Finding
from homeostat.operators.policy.engine.evaluator import CLEAN, NOT_MEANT, Result
from homeostat.operators.policy.engine.totals import Tally, Totals, sum_totals
from homeostat.operators.policy.spec import PolicySpec
from tests.operators.policy.worlds import ALL, BARE, GOOD, NOW, WORST, evaluator_of

_TUNED = [check.tuned(PolicySpec()) for check in CHECKS]
findings = st.builds(Finding, st.sampled_from(_TUNED), st.sampled_from(["", "main", "side"]), units=st.integers(1, 5))
results = st.builds(
    Result,
    st.lists(findings, max_size=4).map(tuple),
    st.integers(0, 1),
    st.integers(0, 2),
    st.one_of(st.just(inf), st.floats(0, 100)),
)
many = st.dictionaries(st.sampled_from("abcdefgh"), results, max_size=8)


def fresh(held: dict[str, Result]) -> tuple[Totals, list[tuple[str, Finding]], float | None]:
    tally = Tally(held)
    return tally.totals(), tally.findings(100), tally.next_due()


@given(many, st.randoms())
def test_the_order_in_which_results_come_does_not_matter(held: dict[str, Result], random: object) -> None:
    keys = list(held)
    random.shuffle(keys)  # type: ignore[attr-defined]
    tally = Tally()
    for key in keys:
        tally.put(key, held[key])
    assert (tally.totals(), tally.findings(100), tally.next_due()) == fresh(held)


@given(many, many)
@settings(max_examples=200)
def test_what_is_put_and_removed_leaves_no_trace(held: dict[str, Result], passing: dict[str, Result]) -> None:
    tally = Tally(held)
    before = fresh(held)
    for key, result in passing.items():
        tally.put(key, result)
        tally.findings(3)
    for key in passing:
        if key in held:
            tally.put(key, held[key])
        else:
            tally.remove(key)
    assert (tally.totals(), tally.findings(100), tally.next_due()) == before


@given(many, many)
def test_namespaces_add_up(left: dict[str, Result], right: dict[str, Result]) -> None:
    together = {**{f"l{key}": each for key, each in left.items()}, **{f"r{key}": each for key, each in right.items()}}
    assert sum_totals([Tally(left).totals(), Tally(right).totals()]) == Tally(together).totals()


def test_removing_what_was_never_there_takes_nothing_away() -> None:
    tally = Tally()
    assert not tally.remove("web")
    assert tally.totals() == Totals()


def test_a_result_replaces_the_one_before() -> None:
    evaluator = evaluator_of(ALL)
    tally = Tally()
    assert tally.put("web", evaluator.evaluate(WORST, now=NOW))
    assert tally.totals().score == 56
    assert tally.put("web", evaluator.evaluate(GOOD, now=NOW))
    assert tally.totals() == Totals(pods=1)
    assert not tally.put("web", CLEAN)
    assert (len(tally), "web" in tally, tally.keys()) == (1, True, ["web"])


def test_what_is_not_meant_counts_as_no_pod() -> None:
    assert Tally({"a": NOT_MEANT}).totals() == Totals()


def test_the_list_of_findings_is_bounded_and_in_order() -> None:
    result = evaluator_of(ALL).evaluate(BARE, now=NOW)
    tally = Tally({f"pod-{at:05d}": result for at in reversed(range(1000))})
    told = tally.findings(7)
    assert [key for key, _ in told] == ["pod-00000"] * 3 + ["pod-00001"] * 3 + ["pod-00002"]
    assert tally.totals().violations == 3000


def test_a_key_is_told_once_when_it_is_due() -> None:
    tally = Tally({"a": Result(recheck_at=5.0), "b": Result(recheck_at=3.0), "c": CLEAN, "d": Result(recheck_at=9.0)})
    assert tally.next_due() == 3.0
    assert tally.due(5.0) == ["b", "a"]
    assert tally.due(5.0) == []
    tally.remove("d")
    assert tally.next_due() is None


def test_a_key_that_got_another_time_is_due_at_that_one_only() -> None:
    tally = Tally({"a": Result(recheck_at=5.0)})
    tally.put("a", Result(recheck_at=8.0))
    assert tally.due(7.0) == []
    assert tally.due(8.0) == ["a"]


def test_reminders_of_what_went_do_not_pile_up() -> None:
    tally = Tally()
    for at in range(10_000):
        tally.put(f"pod-{at}", Result(recheck_at=1e9 + at))
        tally.remove(f"pod-{at}")
        tally.put("steady", Result(recheck_at=1e9 if at % 2 else inf))
    assert len(tally._due) < 200
    assert tally.due(2e9) == ["steady"]
