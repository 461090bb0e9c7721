"""How many days of a readiness gate are left."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from homeostat.web.contracts.dashboard.readiness import remaining
from homeostat.web.dashboard.html.markup import el

TODAY = date(2026, 11, 4)


@pytest.mark.parametrize(
    ("days", "text", "class_"),
    [
        (-3, "expired", "chip bad"),
        (0, "the last day", "chip bad"),
        (1, "1 day left", "chip bad"),
        (200, "200 days left", "note"),
    ],
)
def test_a_gate_says_how_many_days_are_left(days: int, text: str, class_: str) -> None:
    shown = str(el("p", remaining(TODAY + timedelta(days), TODAY)))
    assert f'<span class="{class_}">{text}</span>' in shown
