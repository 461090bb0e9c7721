"""The metrics of the operator: a counter exists before its first event."""

from __future__ import annotations

from homeostat.operators.images.metrics import Series


def test_counters_begin_with_zero_so_that_their_first_event_is_growth() -> None:
    series = Series(lambda: 0)
    before = _samples(series)
    assert {value for name, value in before.items() if name[0].endswith("_total")} == {0.0}
    series.count_git("push", "failure")
    series.count_check("absent")
    series.count_action("patched")
    assert _samples(series).keys() == before.keys()


def _samples(series: Series) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    found = (sample for family in series.collect() for sample in family.samples)
    return {(each.name, frozenset(each.labels.items())): each.value for each in found}
