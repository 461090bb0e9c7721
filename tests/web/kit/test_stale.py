"""Pages refuse objects that a failed watch has left out of date."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import pytest

from homeostat.runtime.watch.phase import State, Waiting, Watching
from homeostat.web.kit.watched import stale_reason


@dataclass
class Seen:
    state: State
    last_event_age_s: float


@pytest.mark.parametrize(
    ("state", "age_s", "reason"),
    [
        (Watching(), 70.0, ""),
        (Waiting(1.0, "refused", Watching()), 59.0, ""),
        (Waiting(1.0, "refused", Watching()), 61.0, "no event for 61 s: refused"),
        (Watching(), 181.0, "no event for 181 s"),
    ],
)
def test_a_watch_that_has_not_worked_for_a_minute_is_stale(state: State, age_s: float, reason: str) -> None:
    assert stale_reason(cast("Any", Seen(state, age_s))) == reason
