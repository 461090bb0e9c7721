"""The expressions of Prometheus that the panels and alerts of all parts are made of. Pure.

`where` is what stands between the braces of a series: the placeholder of its process (`runtime/deployment.py`), and
further labels. Values are summed, by the labels given.
"""

from __future__ import annotations

from typing import Final

PROCESS: Final = "job, namespace"
"""The labels of a deployment."""
NONE_UP: Final = f"absent(up{{$target}}) or sum by ({PROCESS}) (up{{$target}}) == 0"


def rate(metric: str, *labels: str, where: str = "$target", over: str = "5m") -> str:
    """By how much a counter grows in a second."""
    return f"sum{_by(labels)} (rate({metric}{{{where}}}[{over}]))"


def grown(metric: str, *labels: str, where: str = "$target", over: str) -> str:
    """By how much a counter has grown."""
    return f"sum{_by(labels)} (increase({metric}{{{where}}}[{over}]))"


def grown_in_1h(series: str) -> str:
    """For a single number: 0 if there is no such series."""
    return f"sum(increase({series}[1h])) or vector(0)"


def quantile(metric: str, *labels: str, where: str = "$target", over: str = "5m", share: str = "0.99") -> str:
    """Of a histogram: what this share of its values stays below."""
    return f"histogram_quantile({share}, {rate(f'{metric}_bucket', *labels, 'le', where=where, over=over)})"


def certificate_expires(prefix: str, labels: str) -> str:
    """The seconds left of a served certificate that should have been renewed long before.

    These are less than seven days, and less than a sixth of its life: it is renewed when a third is left. The prefix
    is that of its metrics; `labels` is a placeholder that selects whose.
    """
    start, end = (f"{prefix}_{each}_timestamp_seconds{{{labels}}}" for each in ("start", "expiry"))
    return f"min by (namespace, job) ({end} - time() < 7 * 86400 and {end} - time() < ({end} - {start}) / 6)"


def _by(labels: tuple[str, ...]) -> str:
    return f" by ({', '.join(labels)})" if labels else ""
