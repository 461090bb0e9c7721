"""The running sum: order does not matter, what is removed leaves no trace, and nothing is summed twice."""

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from homeostat.operators.policy.engine.check import CHECKS, Finding
from homeostat.operators.policy.engine.evaluator import CLEAN, NOT_SELECTED, Result
from homeostat.operators.policy.engine.totals import RunningTotals, Totals, sum_totals
from homeostat.operators.policy.spec import PolicySpec
from tests.examples import examples
from tests.operators.policy.worlds import ALL, BARE, GOOD, NOW, WORST, evaluator_of

_TUNED = [check.for_policy(PolicySpec()) for check in CHECKS]
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
    running = RunningTotals(held)
    return running.totals(), running.findings(100), running.next_due()


@given(many, st.randoms())
def test_the_order_in_which_results_come_does_not_matter(held: dict[str, Result], random: object) -> None:
    keys = list(held)
    random.shuffle(keys)  # type: ignore[attr-defined]
    running = RunningTotals()
    for key in keys:
        running.put(key, held[key])
    assert (running.totals(), running.findings(100), running.next_due()) == fresh(held)


@given(many, many)
@examples(200)
def test_what_is_put_and_removed_leaves_no_trace(held: dict[str, Result], passing: dict[str, Result]) -> None:
    running = RunningTotals(held)
    before = fresh(held)
    for key, result in passing.items():
        running.put(key, result)
        running.findings(3)
    for key in passing:
        if key in held:
            running.put(key, held[key])
        else:
            running.remove(key)
    assert (running.totals(), running.findings(100), running.next_due()) == before


@given(many, many)
def test_namespaces_add_up(left: dict[str, Result], right: dict[str, Result]) -> None:
    together = {**{f"l{key}": each for key, each in left.items()}, **{f"r{key}": each for key, each in right.items()}}
    assert sum_totals([RunningTotals(left).totals(), RunningTotals(right).totals()]) == RunningTotals(together).totals()


def test_removing_what_was_never_there_takes_nothing_away() -> None:
    running = RunningTotals()
    assert not running.remove("web")
    assert running.totals() == Totals()


def test_a_result_replaces_the_one_before() -> None:
    evaluator = evaluator_of(ALL)
    running = RunningTotals()
    assert running.put("web", evaluator.evaluate(WORST, now=NOW))
    assert running.totals().score == 56
    assert running.put("web", evaluator.evaluate(GOOD, now=NOW))
    assert running.totals() == Totals(pods=1)
    assert not running.put("web", CLEAN)
    assert (len(running), "web" in running, running.keys()) == (1, True, ["web"])


def test_what_is_not_selected_counts_as_no_pod() -> None:
    assert RunningTotals({"a": NOT_SELECTED}).totals() == Totals()


def test_the_list_of_findings_is_bounded_and_in_order() -> None:
    result = evaluator_of(ALL).evaluate(BARE, now=NOW)
    running = RunningTotals({f"pod-{at:05d}": result for at in reversed(range(1000))})
    told = running.findings(7)
    assert [key for key, _ in told] == ["pod-00000"] * 3 + ["pod-00001"] * 3 + ["pod-00002"]
    assert running.totals().violations == 3000


def test_a_key_is_reported_once_when_it_is_due() -> None:
    running = RunningTotals(
        {"a": Result(recheck_at=5.0), "b": Result(recheck_at=3.0), "c": CLEAN, "d": Result(recheck_at=9.0)}
    )
    assert running.next_due() == 3.0
    assert running.due(5.0) == ["b", "a"]
    assert running.due(5.0) == []
    running.remove("d")
    assert running.next_due() is None


def test_a_key_that_got_another_time_is_due_at_that_one_only() -> None:
    running = RunningTotals({"a": Result(recheck_at=5.0)})
    running.put("a", Result(recheck_at=8.0))
    assert running.due(7.0) == []
    assert running.due(8.0) == ["a"]


def test_reminders_of_what_went_do_not_pile_up() -> None:
    running = RunningTotals()
    for at in range(10_000):
        running.put(f"pod-{at}", Result(recheck_at=1e9 + at))
        running.remove(f"pod-{at}")
        running.put("steady", Result(recheck_at=1e9 if at % 2 else inf))
    assert len(running._due) < 200
    assert running.due(2e9) == ["steady"]
