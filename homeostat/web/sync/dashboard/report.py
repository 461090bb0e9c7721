"""What SyncPolicies report to Home: how many are synced, which failed or hold changes, what is due or suspended."""

from __future__ import annotations

from datetime import UTC, datetime
from heapq import nsmallest
from typing import Final

from homeostat.objects.conditions import PAUSED, READY, find, is_true
from homeostat.operators.sync.api.policy import SYNC_POLICY
from homeostat.web.dashboard.home.report import MOST_REPORTED, Problem, Report, Severity, Upcoming, frozen
from homeostat.web.dashboard.html.components import many
from homeostat.web.dashboard.visit import Visit
from homeostat.web.sync.dashboard.policies import Policies, policy_path
from homeostat.web.sync.dashboard.state import PolicyRow, next_run, settled_state

_WRONG: Final = ("failed", "held", "drifted")
_MOST_DUE: Final = 5


class SyncReport:
    def __init__(self, policies: Policies) -> None:
        self._policies = policies

    async def make(self, visit: Visit) -> Report | None:
        rows = await self._policies.worst(visit)
        rows = [each for each in rows if visit.namespace in ("", each.policy.metadata.namespace)]
        if not rows:
            return None
        # A sync that runs does not hide what the last one left: Home would change with each interval.
        rows = [each._replace(state=settled_state(each)) for each in rows]
        suspended = [each for each in rows if each.state == "suspended"]
        paused = [each for each in rows if _is_paused(each)]
        wrong = [each for each in rows if each.state in _WRONG]
        return Report(
            noun="policy",
            plural="policies",
            total=len(rows),
            as_declared=sum(each.state == "synced" and not _is_paused(each) for each in rows),
            paused=len(suspended) + len(paused),
            paused_word="suspended or paused" if paused else "suspended",
            wrong=len(wrong),
            problems=tuple(map(_problem, nsmallest(MOST_REPORTED, wrong, key=_how_bad))),
            upcoming=(
                *map(_frozen, suspended[:MOST_REPORTED]),
                *(frozen(_name(each), _path(each)) for each in paused[:MOST_REPORTED]),
                *_due([each for each in rows if not _is_paused(each)], datetime.now(UTC)),
            ),
        )


def _is_paused(each: PolicyRow) -> bool:
    """By the annotation; one that is suspended or wrong counts as that."""
    return each.state not in ("suspended", *_WRONG) and is_true(each.status.conditions, PAUSED)


def _how_bad(each: PolicyRow) -> tuple[bool, str]:
    ready = find(each.status.conditions, READY)
    return each.state != "failed", (ready.last_transition_time if ready is not None else "") or "~"


def _problem(each: PolicyRow) -> Problem:
    ready = find(each.status.conditions, READY)
    text = each.status.held_message or (ready.message if ready is not None else "") or each.state
    if each.state == "drifted":
        count = each.status.drifted or 0
        why = f"; {each.status.held_message}" if each.status.held_message else ""
        text = f"{many(count, 'resource')} {'differs' if count == 1 else 'differ'} from the repository{why}"
    since = ready.last_transition_time if ready is not None else None
    severity: Severity = "bad" if each.state == "failed" else "warn"
    where = each.policy.metadata
    own = (SYNC_POLICY.kind, where.namespace, where.name)
    return Problem(_name(each), _path(each), text, severity, since or "", own, each.state)


def _frozen(each: PolicyRow) -> Upcoming:
    return Upcoming(_name(each), _path(each), "syncs are suspended")


def _due(rows: list[PolicyRow], now: datetime) -> list[Upcoming]:
    due = sorted((each.time, _name(row), _path(row), each.why) for row in rows if (each := next_run(row, now)).time)
    return [Upcoming(name, path, f"next sync ({why})", at) for at, name, path, why in due[:_MOST_DUE]]


def _name(each: PolicyRow) -> str:
    return f"{each.policy.metadata.namespace}/{each.policy.metadata.name}"


def _path(each: PolicyRow) -> str:
    return policy_path(each.policy.metadata.namespace, each.policy.metadata.name)
