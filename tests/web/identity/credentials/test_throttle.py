"""How often somebody may try a password."""

from __future__ import annotations

from homeostat.web.identity.credentials.throttle import ADDRESS, PAIR, USER, Throttle


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_after_some_failures_a_user_waits_at_that_address_and_nowhere_else() -> None:
    throttle = Throttle(Clock())
    assert [throttle.take("anna", "1.1.1.1") for _ in range(PAIR.tries)] == [0] * PAIR.tries
    assert throttle.take("anna", "1.1.1.1") == PAIR.seconds
    assert throttle.take("anna", "2.2.2.2") == 0
    assert throttle.take("bert", "1.1.1.1") == 0


def test_tries_come_back_with_time() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    for _ in range(PAIR.tries):
        throttle.take("anna", "1.1.1.1")
    clock.now += PAIR.seconds / 2
    assert throttle.take("anna", "1.1.1.1") == PAIR.seconds / 2
    clock.now += PAIR.seconds / 2
    assert throttle.take("anna", "1.1.1.1") == 0
    assert throttle.take("anna", "1.1.1.1") > 0


def test_a_refused_try_costs_nothing() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    for _ in range(100):
        throttle.take("anna", "1.1.1.1")
    clock.now += PAIR.seconds
    assert throttle.take("anna", "1.1.1.1") == 0


def test_an_address_that_tries_many_users_waits() -> None:
    throttle = Throttle(Clock())
    waits = [throttle.take(f"user-{number}", "1.1.1.1") for number in range(ADDRESS.tries + 1)]
    assert waits == [*[0] * ADDRESS.tries, ADDRESS.seconds]


def test_a_user_who_is_tried_from_many_addresses_waits() -> None:
    throttle = Throttle(Clock())
    waits = [throttle.take("anna", f"10.0.0.{number}") for number in range(USER.tries + 1)]
    assert waits == [*[0] * USER.tries, USER.seconds]


def test_success_gives_the_tries_back() -> None:
    throttle = Throttle(Clock())
    for _ in range(1000):
        assert throttle.take("anna", "1.1.1.1") == 0
        throttle.succeeded("anna", "1.1.1.1")


def test_what_is_remembered_is_bounded() -> None:
    throttle = Throttle(Clock(), most_kept=30)
    for number in range(1000):
        throttle.take(f"user-{number}", f"10.0.{number // 250}.{number % 250}")
    assert len(throttle._spent) == 30


def test_addresses_of_one_ipv6_network_share_their_budgets() -> None:
    throttle = Throttle(lambda: 0.0)
    for at in range(PAIR.tries):
        assert throttle.take("anna", f"2001:db8::{at:x}") == 0
    assert throttle.take("anna", "2001:db8::ffff") > 0
    assert throttle.take("anna", "2001:db8:0:1::1") == 0


def test_an_ipv4_address_is_the_same_when_it_is_mapped_into_ipv6() -> None:
    throttle = Throttle(lambda: 0.0)
    for _ in range(PAIR.tries):
        throttle.take("anna", "192.0.2.1")
    assert throttle.take("anna", "::ffff:192.0.2.1") > 0
    throttle.succeeded("anna", "::ffff:192.0.2.1")
    assert throttle.take("anna", "192.0.2.1") == 0


def test_a_try_that_compared_no_password_is_given_back() -> None:
    throttle = Throttle(Clock())
    for _ in range(PAIR.tries - 1):
        throttle.take("anna", "1.1.1.1")
    for _ in range(100):
        assert throttle.take("anna", "1.1.1.1") == 0
        throttle.give_back("anna", "1.1.1.1")
    assert throttle.take("anna", "1.1.1.1") == 0
    assert throttle.take("anna", "1.1.1.1") == PAIR.seconds
