"""Forecasts when the readiness gate of a contract drops, so that its owners learn of it before it does. Pure."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta

import msgspec

from homeostat.objects.conditions import Condition
from homeostat.operators.contracts.engine.checks.evaluate import Evaluation
from homeostat.operators.contracts.engine.checks.verdict import READINESS_EXPIRING
from homeostat.operators.contracts.engine.readiness import first_day_unmet


class Forecast(msgspec.Struct, frozen=True):
    """The gate is met, and will not be after `last_day`."""

    last_day: date
    days: int
    """Until then; 0 on the last day."""
    is_near: bool

    @property
    def expires_at(self) -> float:
        """The moment at which the gate drops, in seconds since the epoch."""
        return datetime.combine(self.last_day + timedelta(days=1), time(), UTC).timestamp()

    def condition(self) -> Condition:
        # Without the number of days, which would change the condition each day.
        message = f"The readiness gate is met until {self.last_day.isoformat()}; renew the checks that expire then"
        return Condition(READINESS_EXPIRING, "True", "ExpiresSoon", message)


def forecast(evaluation: Evaluation, now: datetime, *, days: int) -> Forecast | None:
    """None if there is no gate, if it is unmet, or if it stays met. It is near within this number of days."""
    if evaluation.readiness is None or evaluation.contract is None:
        return None
    today = now.astimezone(UTC).date()
    unmet = first_day_unmet(evaluation.contract, today)
    if unmet is None:
        return None
    last_day = unmet - timedelta(days=1)
    left = (last_day - today).days
    return Forecast(last_day, left, left <= days)
