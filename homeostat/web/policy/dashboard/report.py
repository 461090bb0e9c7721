"""What policies report to Home: how many are met, the ones with the lowest scores, exemptions that end soon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from heapq import nsmallest
from typing import Final

from homeostat.objects.conditions import PAUSED, READY, find, is_true
from homeostat.objects.time.timestamp import format_time
from homeostat.operators.policy.api import CLUSTER_DEVOPS_POLICY, DEVOPS_POLICY
from homeostat.web.dashboard.home.report import MOST_REPORTED, Problem, Report, Severity, Upcoming, frozen
from homeostat.web.dashboard.html.components import many
from homeostat.web.dashboard.visit import Visit
from homeostat.web.policy.dashboard.policies import Policies, PolicyRow, look_of

_SOON: Final = timedelta(days=30)


class PolicyReport:
    def __init__(self, policies: Policies) -> None:
        self._policies = policies

    async def make(self, visit: Visit) -> Report | None:
        rows = await self._policies.lowest(visit)
        rows = [each for each in rows if visit.namespace in ("", each.policy.metadata.namespace)]
        if not rows:
            return None
        looks = [_look(each) for each in rows]
        wrong = [each for each, look in zip(rows, looks, strict=True) if look in ("bad", "warn")]
        settled = [each for each, look in zip(rows, looks, strict=True) if look not in ("bad", "warn")]
        paused = [each for each in settled if is_true(each.status.conditions, PAUSED)]
        return Report(
            noun="policy",
            plural="policies",
            total=len(rows),
            as_declared=looks.count("good") - sum(_look(each) == "good" for each in paused),
            wrong=len(wrong),
            paused=len(paused),
            problems=tuple(map(_problem, nsmallest(MOST_REPORTED, wrong, key=_how_bad))),
            upcoming=(
                *(frozen(_name(each), each.policy.path) for each in paused[:MOST_REPORTED]),
                *_expiring(rows, datetime.now(UTC))[:MOST_REPORTED],
            ),
        )


def _look(each: PolicyRow) -> str:
    """`plain` for a policy that was not evaluated yet."""
    ready = find(each.status.conditions, READY)
    if ready is not None and ready.status == "False":
        return "bad"
    return look_of(each.status)


def _since(each: PolicyRow) -> str:
    ready = find(each.status.conditions, READY)
    return (ready.last_transition_time if ready is not None else "") or each.status.last_evaluated or ""


def _how_bad(each: PolicyRow) -> tuple[bool, str]:
    return _look(each) != "bad", _since(each) or "~"


def _problem(each: PolicyRow) -> Problem:
    status = each.status
    ready = find(status.conditions, READY)
    since = _since(each)
    score = f"Score {status.health_score}, {many(status.violations or 0, 'violation')}"
    text = ready.message if ready is not None and ready.status == "False" and ready.message else score
    severity: Severity = "bad" if _look(each) == "bad" else "warn"
    where = each.policy.metadata
    own = ((DEVOPS_POLICY if where.namespace else CLUSTER_DEVOPS_POLICY).kind, where.namespace, where.name)
    return Problem(_name(each), each.policy.path, text, severity, since, own, "violations" if text == score else "")


def _expiring(rows: list[PolicyRow], now: datetime) -> list[Upcoming]:
    last, first = format_time(now + _SOON), format_time(now)
    return [
        Upcoming(_name(each), each.policy.path, f"exemption ends: {one.reason}", one.expires, "warn")
        for each in rows
        for one in each.policy.spec.exemptions
        if one.expires and first <= one.expires <= last
    ]


def _name(each: PolicyRow) -> str:
    where = each.policy.metadata
    return f"{where.namespace}/{where.name}" if where.namespace else where.name
