import pytest
from hypothesis import given
from hypothesis import strategies as st

from homeostat.objects.time.backoff import Backoff

CHANCE = st.floats(0, 1, exclude_max=True)
FAILURES = st.integers(1, 100_000)


def test_delays_double_up_to_the_cap() -> None:
    backoff = Backoff(first_s=1, cap_s=10, spread=0)
    assert [backoff.delay_s(failures, 0.5) for failures in range(1, 7)] == [1, 2, 4, 8, 10, 10]


def test_the_spread_only_shortens() -> None:
    backoff = Backoff(first_s=1, cap_s=10, spread=0.5)
    assert [backoff.delay_s(1, chance) for chance in (0, 0.5, 1)] == [1, 0.75, 0.5]


@given(FAILURES, CHANCE)
def test_a_delay_is_within_its_spread_and_under_the_cap(failures: int, chance: float) -> None:
    backoff = Backoff()
    full = backoff.delay_s(failures, 0)
    assert full * (1 - backoff.spread) <= backoff.delay_s(failures, chance) <= full <= backoff.cap_s


@given(FAILURES, FAILURES, CHANCE)
def test_more_failures_never_wait_less(one: int, other: int, chance: float) -> None:
    fewer, more = sorted((one, other))
    assert Backoff().delay_s(fewer, chance) <= Backoff().delay_s(more, chance)


@pytest.mark.parametrize(
    ("first_s", "cap_s", "factor", "spread"), [(0, 1, 2, 0), (2, 1, 2, 0), (1, 2, 0.5, 0), (1, 2, 2, 1.5)]
)
def test_a_backoff_that_makes_no_sense_is_refused(first_s: float, cap_s: float, factor: float, spread: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        Backoff(first_s, cap_s, factor, spread)
