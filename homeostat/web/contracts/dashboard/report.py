"""What contracts report to Home: how many services keep theirs, which do not, readiness that expires soon."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from heapq import nsmallest
from typing import Final

from homeostat.objects.time.timestamp import format_time
from homeostat.operators.contracts.api import PACTO
from homeostat.web.contracts.dashboard.contracts import CheckResult, ContractRow, Contracts, failed_checks
from homeostat.web.dashboard.home.report import MOST_REPORTED, Problem, Report, Severity, Upcoming, frozen
from homeostat.web.dashboard.visit import Visit

_KEPT: Final = ("Compliant", "Reference")
_SOON: Final = timedelta(days=30)


class ContractReport:
    def __init__(self, contracts: Contracts) -> None:
        self._contracts = contracts

    async def make(self, visit: Visit) -> Report | None:
        rows = await self._contracts.worst(visit)
        rows = [each for each in rows if visit.namespace in ("", each.pacto.metadata.namespace)]
        if not rows:
            return None
        words = [each.status.contract_status for each in rows]
        wrong = [each for each, word in zip(rows, words, strict=True) if word and word not in _KEPT]
        paused = [each for each in rows if each.status.is_paused and each.status.contract_status != "NonCompliant"]
        return Report(
            noun="contract",
            total=len(rows),
            as_declared=sum(each.status.contract_status in _KEPT and not each.status.is_paused for each in rows),
            wrong=words.count("NonCompliant"),
            paused=len(paused),
            problems=tuple(map(_problem, nsmallest(MOST_REPORTED, wrong, key=_how_bad))),
            upcoming=(
                *(frozen(_name(each), each.pacto.path) for each in paused[:MOST_REPORTED]),
                *list(_expiring(rows, datetime.now(UTC)))[:MOST_REPORTED],
            ),
        )


def _problem(each: ContractRow) -> Problem:
    failed = failed_checks(each.status)
    text = ", ".join(one.type for one in failed) or each.status.contract_status
    severity: Severity = "bad" if each.status.contract_status == "NonCompliant" else "warn"
    where = each.pacto.metadata
    own = (PACTO.kind, where.namespace, where.name)
    return Problem(
        _name(each), each.pacto.path, f"{text}: {failed[0].message}" if failed else text, severity, _since(failed), own
    )


def _since(failed: Iterable[CheckResult]) -> str:
    return min((one.last_transition_time for one in failed if one.last_transition_time), default="")


def _how_bad(each: ContractRow) -> tuple[bool, str]:
    """The worst first, and of these the oldest."""
    return each.status.contract_status != "NonCompliant", _since(failed_checks(each.status)) or "~"


def _expiring(rows: list[ContractRow], now: datetime) -> list[Upcoming]:
    last = format_time(now + _SOON)
    return [
        Upcoming(_name(each), each.pacto.path, "readiness expires", each.status.readiness.passing_until, "warn")
        for each in rows
        if each.status.readiness is not None and "" < each.status.readiness.passing_until <= last
    ]


def _name(each: ContractRow) -> str:
    return f"{each.pacto.metadata.namespace}/{each.pacto.metadata.name}"
