"""The running sum of many results: one changed Pod costs one subtraction and one addition, and no other Pod is asked.

Promises, each with a property test: the order in which results come does not matter; what is put and removed again
leaves no trace; the sums are those of the results that are held. What it tells is bounded: totals, and the first
violations by name.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush
from itertools import islice
from math import inf
from typing import TypeVar

import msgspec

from homeostat.objects.report.report import SEVERITIES, Severity
from homeostat.operators.policy.engine.check import Finding
from homeostat.operators.policy.engine.evaluator import Result
from homeostat.operators.policy.engine.score import score_of

K = TypeVar("K")

_SLACK = 64


class Totals(msgspec.Struct, frozen=True):
    """Sums over Pods. `units` and `severities` count by type and by severity, without zeros and in order."""

    pods: int = 0
    violations: int = 0
    points: int = 0
    exempted: int = 0
    units: dict[str, int] = {}
    severities: dict[Severity, int] = {}

    @property
    def score(self) -> int:
        return score_of(self.points, self.pods)


def sum_totals(parts: Iterable[Totals]) -> Totals:
    """Of several namespaces together."""
    whole = _Sums()
    for part in parts:
        whole.pods += part.pods
        whole.violations += part.violations
        whole.points += part.points
        whole.exempted += part.exempted
        _count(whole.units, part.units)
        _count(whole.severities, part.severities)
    return whole.totals()


class Tally:
    """Results by key; the key of a Pod is its name, and of a workload its own key."""

    def __init__(self, results: Mapping[str, Result] | None = None) -> None:
        self._results: dict[str, Result] = {}
        self._sums = _Sums()
        self._offenders: list[str] | None = []
        """Keys with findings, sorted; None while that is not worth keeping up."""
        self._due: list[tuple[float, str]] = []
        if results:
            self._offenders = None
            for key, result in results.items():
                self.put(key, result)

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, key: str) -> bool:
        return key in self._results

    def keys(self) -> list[str]:
        return list(self._results)

    def put(self, key: str, result: Result) -> bool:
        """In the place of what the key had; whether anything but its time to be asked again changed."""
        held = self._results.get(key)
        self._results[key] = result
        if result.recheck_at != inf and (held is None or held.recheck_at != result.recheck_at):
            self._remind(result.recheck_at, key)
        if held is not None:
            if held.findings == result.findings and held.pods == result.pods and held.exempted == result.exempted:
                return False
            self._sums.add(held, -1)
        self._sums.add(result, 1)
        self._move(key, held is not None and bool(held.findings), bool(result.findings))
        return True

    def remove(self, key: str) -> bool:
        """Whether it was there; what was never put takes nothing away."""
        held = self._results.pop(key, None)
        if held is None:
            return False
        self._sums.add(held, -1)
        self._move(key, bool(held.findings), False)
        return True

    def totals(self) -> Totals:
        return self._sums.totals()

    def findings(self, limit: int) -> list[tuple[str, Finding]]:
        """The first so many, with their keys, in the order of the keys."""
        if self._offenders is None:
            self._offenders = sorted(key for key, result in self._results.items() if result.findings)
        found = ((key, finding) for key in self._offenders for finding in self._results[key].findings)
        return list(islice(found, limit))

    def due(self, now: float) -> list[str]:
        """The keys whose time to be asked again has come; each is told once."""
        keys: dict[str, None] = {}
        while (at := self.next_due()) is not None and at <= now:
            keys[heappop(self._due)[1]] = None
        return list(keys)

    def next_due(self) -> float | None:
        """When the first of the keys must be asked again."""
        while self._due:
            at, key = self._due[0]
            held = self._results.get(key)
            if held is not None and held.recheck_at == at:
                return at
            heappop(self._due)
        return None

    def _remind(self, at: float, key: str) -> None:
        heappush(self._due, (at, key))
        if len(self._due) > 2 * len(self._results) + _SLACK:
            # Most of it is outdated: keys that went, and times that keys no longer have.
            times = ((result.recheck_at, key) for key, result in self._results.items())
            self._due = [each for each in times if each[0] != inf]
            heapify(self._due)

    def _move(self, key: str, was_offender: bool, is_offender: bool) -> None:
        if self._offenders is None or was_offender == is_offender:
            return
        if is_offender:
            insort(self._offenders, key)
        else:
            del self._offenders[bisect_left(self._offenders, key)]


class _Sums:
    __slots__ = ("exempted", "pods", "points", "severities", "units", "violations")

    def __init__(self) -> None:
        self.pods = self.violations = self.points = self.exempted = 0
        self.units: dict[str, int] = {}
        self.severities: dict[Severity, int] = {}

    def add(self, result: Result, sign: int) -> None:
        self.pods += sign * result.pods
        self.exempted += sign * result.exempted
        self.violations += sign * len(result.findings)
        for finding in result.findings:
            check, units = finding.check, sign * finding.units
            self.points += units * check.points
            self.units[check.type] = self.units.get(check.type, 0) + units
            self.severities[check.severity] = self.severities.get(check.severity, 0) + sign

    def totals(self) -> Totals:
        units = {name: count for name, count in sorted(self.units.items()) if count}
        severities = {each: self.severities[each] for each in SEVERITIES if self.severities.get(each)}
        return Totals(self.pods, self.violations, self.points, self.exempted, units, severities)


def _count(into: dict[K, int], more: Mapping[K, int]) -> None:
    for name, count in more.items():
        into[name] = into.get(name, 0) + count
