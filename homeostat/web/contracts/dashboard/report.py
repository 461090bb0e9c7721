"""What contracts report to Home: how many services keep theirs, which do not, readiness that expires soon."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from homeostat.objects.time.timestamp import format_time
from homeostat.operators.contracts.api import PACTO
from homeostat.web.contracts.dashboard.contracts import ContractRow, Contracts, failed_checks
from homeostat.web.dashboard.home.report import MOST_REPORTED, Problem, Report, Severity, Upcoming
from homeostat.web.dashboard.visit import Visit

_KEPT: Final = ("Compliant", "Reference")
_SOON: Final = timedelta(days=30)


class ContractReport:
    def __init__(self, contracts: Contracts) -> None:
        self._contracts = contracts

    async def make(self, visit: Visit) -> Report | None:
        rows = await self._contracts.worst()
        rows = [each for each in rows if visit.namespace in ("", each.pacto.metadata.namespace)]
        if not rows:
            return None
        words = [each.status.contract_status for each in rows]
        wrong = [each for each, word in zip(rows, words, strict=True) if word and word not in _KEPT]
        return Report(
            noun="contract",
            total=len(rows),
            as_declared=sum(word in _KEPT for word in words),
            wrong=words.count("NonCompliant"),
            problems=tuple(_problem(each) for each in wrong[:MOST_REPORTED]),
            upcoming=tuple(_expiring(rows, datetime.now(UTC)))[:MOST_REPORTED],
        )


def _problem(each: ContractRow) -> Problem:
    failed = failed_checks(each.status)
    text = ", ".join(one.type for one in failed) or each.status.contract_status
    since = min((one.last_transition_time for one in failed if one.last_transition_time), default="")
    severity: Severity = "bad" if each.status.contract_status == "NonCompliant" else "warn"
    where = each.pacto.metadata
    own = (PACTO.kind, where.namespace, where.name)
    return Problem(
        _name(each), each.pacto.path, f"{text}: {failed[0].message}" if failed else text, severity, since, own
    )


def _expiring(rows: list[ContractRow], now: datetime) -> list[Upcoming]:
    last = format_time(now + _SOON)
    return [
        Upcoming(_name(each), each.pacto.path, "readiness expires", each.status.readiness.passing_until, "warn")
        for each in rows
        if each.status.readiness is not None and "" < each.status.readiness.passing_until <= last
    ]


def _name(each: ContractRow) -> str:
    return f"{each.pacto.metadata.namespace}/{each.pacto.metadata.name}"
