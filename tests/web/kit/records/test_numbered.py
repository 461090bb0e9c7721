"""Objects by number: the oldest has it, the newest come first."""

from __future__ import annotations

import tracemalloc
from itertools import islice

from homeostat.web.kit.records.numbered import Numbered


def filled(*objects: tuple[int, str]) -> Numbered[str]:
    """Each is older than the next."""
    found: Numbered[str] = Numbered()
    for at, (number, name) in enumerate(objects):
        found.put(number, name, (f"{at:04}", name), name)
    return found


def test_the_oldest_owns_the_number_and_the_others_are_reported() -> None:
    found = filled((1, "a"), (1, "b"), (1, "c"), (2, "d"))
    assert found.get(1) == "a"
    assert found.disputed(1) == ["b", "c"]
    assert found.disputed(2) == found.disputed(3) == []


def test_when_it_goes_the_next_oldest_is_found() -> None:
    found = filled((1, "a"), (1, "b"))
    found.remove(1, "a")
    assert (found.get(1), found.disputed(1)) == ("b", [])
    found.remove(1, "b")
    assert (found.get(1), len(found), found.highest) == (None, 0, 0)


def test_the_newest_come_first_and_from_a_number_on() -> None:
    found = filled((2, "b"), (9, "i"), (5, "e"))
    assert list(found.newest()) == ["e", "i", "b"]
    assert list(found.newest(before=9)) == ["b"]
    assert list(found.newest(before=6)) == ["e", "b"]
    assert list(found.newest(before=1)) == []
    assert found.highest == 9


def test_objects_of_one_second_are_in_the_order_of_their_numbers() -> None:
    found: Numbered[str] = Numbered()
    for number, second in ((3, "07"), (1, "08"), (2, "07"), (9, "06")):
        found.put(number, number, (second, f"u-{number}"), f"{second}/{number}")
    assert list(found.newest()) == ["08/1", "07/3", "07/2", "06/9"]
    found.put(9, "older", ("05", "u"), "05/9")
    found.remove(3, 3)
    assert list(found.newest()) == found.snapshot() == ["08/1", "07/2", "05/9"]


def test_what_is_put_again_is_replaced_and_what_is_not_there_is_not_removed() -> None:
    found = filled((1, "a"))
    found.put(1, "a", ("0000", "a"), "changed")
    found.remove(7, "a")
    found.remove(1, "other")
    assert (list(found.newest()), len(found)) == (["changed"], 1)


class Counted(int):
    """A number that counts how often any of its kind is compared."""

    comparisons = 0

    def __lt__(self, other: int) -> bool:
        Counted.comparisons += 1
        return int(self) < int(other)


def test_a_page_of_many_costs_no_walk_over_all() -> None:
    found: Numbered[int] = Numbered()
    for number in range(1, 50_001):
        found.put(Counted(number), number, ("", str(number)), number)
    assert Counted.comparisons == 0, "what a first list puts is put in order once, when somebody reads it"
    assert next(found.newest()) == 50_000
    Counted.comparisons = 0
    tracemalloc.start()
    try:
        page = list(islice(found.newest(before=40_001), 100))
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert page == list(range(40_000, 39_900, -1))
    # A search in a sorted list for each item of the page, and no copy of the list.
    assert 0 < Counted.comparisons <= 100 * 20
    assert most_bytes < 40_000


def test_objects_that_come_and_go_shift_nothing() -> None:
    found = filled((1, "a"), (2, "b"), (3, "c"), (5, "e"))
    listed = found.newest()
    at_once = found.snapshot()
    assert next(listed) == "e"
    found.put(4, "d", ("0002", "d"), "d")
    found.remove(2, "b")
    assert list(listed) == ["d", "c", "a"]
    assert at_once == ["e", "c", "b", "a"]
