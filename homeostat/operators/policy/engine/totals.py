"""Totals over many results, updated result by result: a changed Pod costs one subtraction and one addition.

Promises, each with a property test: the order of updates does not matter; a result that is put and removed leaves no
trace; the totals equal the sum over the current results. Findings are returned up to a limit.
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
    """Sums over Pods. `units` and `severities` count by type and by severity, sorted and without zeros."""

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
    """The totals of several namespaces together."""
    whole = _Sums()
    for part in parts:
        whole.pods += part.pods
        whole.violations += part.violations
        whole.points += part.points
        whole.exempted += part.exempted
        _count(whole.units, part.units)
        _count(whole.severities, part.severities)
    return whole.totals()


class RunningTotals:
    """Results by key: the name of a Pod, or the key of a workload."""

    def __init__(self, results: Mapping[str, Result] | None = None) -> None:
        self._results: dict[str, Result] = {}
        self._sums = _Sums()
        self._violators: list[str] | None = []
        """Keys with findings, sorted; None until they are first needed."""
        self._due: list[tuple[float, str]] = []
        if results:
            self._violators = None
            for key, result in results.items():
                self.put(key, result)

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, key: str) -> bool:
        return key in self._results

    def keys(self) -> list[str]:
        return list(self._results)

    def put(self, key: str, result: Result) -> bool:
        """Replaces the result of the key. Returns whether anything but `recheck_at` changed."""
        current = self._results.get(key)
        self._results[key] = result
        if result.recheck_at != inf and (current is None or current.recheck_at != result.recheck_at):
            self._schedule(result.recheck_at, key)
        if current is not None:
            if (
                current.findings == result.findings
                and current.pods == result.pods
                and current.exempted == result.exempted
            ):
                return False
            self._sums.add(current, -1)
        self._sums.add(result, 1)
        self._move(key, current is not None and bool(current.findings), bool(result.findings))
        return True

    def remove(self, key: str) -> bool:
        """Returns whether the key had a result."""
        current = self._results.pop(key, None)
        if current is None:
            return False
        self._sums.add(current, -1)
        self._move(key, bool(current.findings), False)
        return True

    def totals(self) -> Totals:
        return self._sums.totals()

    def findings(self, limit: int) -> list[tuple[str, Finding]]:
        """The first findings with their keys, sorted by key."""
        if self._violators is None:
            self._violators = sorted(key for key, result in self._results.items() if result.findings)
        found = ((key, finding) for key in self._violators for finding in self._results[key].findings)
        return list(islice(found, limit))

    def due(self, now: float) -> list[str]:
        """The keys that are due for another evaluation; each is returned once."""
        keys: dict[str, None] = {}
        while (at := self.next_due()) is not None and at <= now:
            keys[heappop(self._due)[1]] = None
        return list(keys)

    def next_due(self) -> float | None:
        """When the first key is due."""
        while self._due:
            at, key = self._due[0]
            current = self._results.get(key)
            if current is not None and current.recheck_at == at:
                return at
            heappop(self._due)
        return None

    def _schedule(self, at: float, key: str) -> None:
        heappush(self._due, (at, key))
        if len(self._due) > 2 * len(self._results) + _SLACK:
            # Most entries are outdated: of removed keys, or with former times.
            times = ((result.recheck_at, key) for key, result in self._results.items())
            self._due = [each for each in times if each[0] != inf]
            heapify(self._due)

    def _move(self, key: str, was_violator: bool, is_violator: bool) -> None:
        if self._violators is None or was_violator == is_violator:
            return
        if is_violator:
            insort(self._violators, key)
        else:
            del self._violators[bisect_left(self._violators, key)]


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
