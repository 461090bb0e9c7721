import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.runtime.control.hot_loop_limit import Breaker


def test_a_burst_is_let_through_and_then_the_refill_sets_the_pace() -> None:
    breaker: Breaker[str] = Breaker(burst=3, refill_s=10)
    assert [breaker.admit("web", 0) for _ in range(5)] == [0, 0, 0, 10, 10]
    assert breaker.admit("web", 4) == 6
    assert [breaker.admit("web", 10) for _ in range(2)] == [0, 10]
    assert breaker.trips == 4


def test_keys_do_not_share_turns() -> None:
    breaker: Breaker[str] = Breaker(burst=1, refill_s=10)
    assert [breaker.admit(key, 0) for key in ("web", "db", "web")] == [0, 0, 10]


def test_a_quiet_key_has_its_whole_burst_again() -> None:
    breaker: Breaker[str] = Breaker(burst=2, refill_s=10)
    breaker.admit("web", 0)
    breaker.admit("web", 0)
    assert [breaker.admit("web", 20) for _ in range(3)] == [0, 0, 10]


def test_a_forgotten_key_has_its_whole_burst_again() -> None:
    breaker: Breaker[str] = Breaker(burst=1, refill_s=10)
    breaker.admit("web", 0)
    breaker.forget("web")
    breaker.forget("unknown")
    assert breaker.admit("web", 0) == 0


def test_full_buckets_are_forgotten() -> None:
    breaker: Breaker[int] = Breaker(burst=100, refill_s=1)
    for key in range(100_000):
        breaker.admit(key, key / 100)
    assert len(breaker) < 3_000


@pytest.mark.parametrize(("burst", "refill_s"), [(0, 1), (1, 0)])
def test_a_breaker_that_lets_nothing_through_is_refused(burst: int, refill_s: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        Breaker[str](burst=burst, refill_s=refill_s)


@given(st.integers(1, 5), st.floats(0.01, 10), st.lists(st.floats(0, 5), max_size=100))
def test_any_stretch_of_time_has_its_refills_and_one_burst_at_most(
    burst: int, refill_s: float, pauses: list[float]
) -> None:
    breaker: Breaker[str] = Breaker(burst=burst, refill_s=refill_s)
    now, admitted = 0.0, []
    for pause in pauses:
        now += pause
        if breaker.admit("web", now) == 0:
            admitted.append(now)
    for at in range(len(admitted)):
        for until in range(at, len(admitted)):
            assert until - at + 1 <= burst + (admitted[until] - admitted[at]) / refill_s + 1e-3


@given(st.integers(1, 5), st.floats(0.01, 10), st.lists(st.floats(0, 5), max_size=30))
def test_after_the_wait_that_was_announced_there_is_a_turn(burst: int, refill_s: float, pauses: list[float]) -> None:
    breaker: Breaker[str] = Breaker(burst=burst, refill_s=refill_s)
    now = 0.0
    for pause in pauses:
        now += pause
        wait_s = breaker.admit("web", now)
        if wait_s:
            now += wait_s
            assert breaker.admit("web", now) == 0
