"""The score of a set of Pods: 100 minus the average points of a Pod, in whole numbers. Pure.

Without Pods the score is 100.
"""

from __future__ import annotations

from typing import Literal

from homeostat.operators.policy.spec import Thresholds

Class = Literal["Healthy", "Stable", "Degraded", "Critical"]

_DEFAULTS = Thresholds()


def score_of(points: int, pods: int) -> int:
    return 100 if pods <= 0 else 100 - min(points // pods, 100)


def classify(score: int, thresholds: Thresholds | None = None) -> Class:
    bounds = thresholds or _DEFAULTS
    if score >= bounds.healthy:
        return "Healthy"
    if score >= bounds.stable:
        return "Stable"
    return "Degraded" if score >= bounds.degraded else "Critical"


def is_healthy(score: int, thresholds: Thresholds | None = None) -> bool:
    return score >= (thresholds or _DEFAULTS).healthy


def summary(*, violations: int, pods: int, score: int, thresholds: Thresholds | None = None) -> str:
    """The message of a status, as the original writes it: always plural."""
    return f"{violations} violations across {pods} pods — {classify(score, thresholds)} ({score})"


def aggregate(scores: list[tuple[int, int]]) -> int:
    """The score of several clusters, weighted by their Pods; the pairs are (score, pods)."""
    pods = sum(count for _, count in scores)
    return sum(score * count for score, count in scores) // pods if pods > 0 else 100
