"""The checker itself: it accepts what some order explains and refuses what none does."""

from __future__ import annotations

import random
from collections.abc import Callable
from math import inf

import pytest

from tests.consistency.linearizability import ImpossibleError, Operation, is_linearizable


def read(began: float, ended: float, value: int) -> Operation[int]:
    def apply(state: int) -> int:
        if state != value:
            raise ImpossibleError
        return state

    return Operation(began, ended, apply)


def write(began: float, ended: float, value: int) -> Operation[int]:
    return Operation(began, ended, lambda _: value)


def swap(began: float, ended: float, expect: int, value: int) -> Operation[int]:
    def apply(state: int) -> int:
        if state != expect:
            raise ImpossibleError
        return value

    return Operation(began, ended, apply)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        pytest.param([], True, id="nothing"),
        pytest.param([write(0, 1, 5), read(2, 3, 5)], True, id="read-what-was-written"),
        pytest.param([write(0, 1, 5), read(2, 3, 0)], False, id="stale-read"),
        pytest.param([write(0, 3, 5), read(1, 2, 0)], True, id="read-before-the-write-took-effect"),
        pytest.param([write(0, 3, 5), read(1, 2, 5)], True, id="read-after-the-write-took-effect"),
        pytest.param([write(0, 9, 5), read(1, 2, 5), read(3, 4, 0)], False, id="what-was-seen-vanishes"),
        pytest.param([write(0, 1, 1), write(0, 1, 2), read(2, 3, 1)], True, id="either-order-of-two-writes"),
        pytest.param([write(0, 1, 1), write(0, 1, 2), read(2, 3, 1), read(4, 5, 2)], False, id="both-orders-at-once"),
        pytest.param([write(0, inf, 5), read(1, 2, 0), read(8, 9, 5)], True, id="never-answered-took-effect-late"),
        pytest.param([write(0, inf, 5), read(8, 9, 0)], True, id="never-answered-took-no-effect-yet"),
        pytest.param([swap(0, 5, 0, 1), swap(0, 5, 0, 2)], False, id="two-swaps-of-one-state"),
        pytest.param([swap(0, 5, 1, 2), swap(0, 5, 0, 1)], True, id="swaps-that-build-on-each-other"),
    ],
)
def test_a_history_is_accepted_if_and_only_if_an_order_explains_it(
    history: list[Operation[int]], expected: bool
) -> None:
    assert is_linearizable(history, 0) is expected


def simulated(chance: random.Random, *, length: int) -> list[Operation[int]]:
    """A history of a real register: each operation takes effect at one moment between its begin and its end."""
    operations: list[Operation[int]] = []
    state = 0
    for moment in range(length):
        began, ended = moment - chance.uniform(0, 4), moment + chance.uniform(0, 4)
        kind: Callable[[float, float, int], Operation[int]] = chance.choice([read, write])
        value = state if kind is read else moment + 1
        state = value
        operations.append(kind(began, ended, value))
    chance.shuffle(operations)
    return operations


@pytest.mark.parametrize("seed", range(10))
def test_every_history_of_a_real_register_is_accepted(seed: int) -> None:
    assert is_linearizable(simulated(random.Random(seed), length=300), 0)


@pytest.mark.parametrize("seed", range(10))
def test_one_answer_from_the_distant_past_is_found_among_many(seed: int) -> None:
    history = simulated(random.Random(seed), length=200)
    late = max(operation.ended for operation in history) + 1
    assert not is_linearizable([*history, read(late, late + 1, -7)], 0)
