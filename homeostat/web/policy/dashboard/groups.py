"""Violations by rule and by workload, and exemptions with their end. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from homeostat.objects.time.timestamp import TimestampError, parse_time
from homeostat.operators.policy.api import Violation
from homeostat.operators.policy.engine.check import CHECKS
from homeostat.web.dashboard.html.components import chip, moment, one_line, row, table
from homeostat.web.dashboard.html.markup import Markup, Node, el

LOOKS: Final = {"critical": "bad", "high": "bad", "medium": "warn", "low": "plain"}
GRAVEST: Final = {"critical": 0, "high": 1, "medium": 2, "low": 3}
_MOST: Final = 50
_REMEDIES: Final = {each.type: each.remedy for each in CHECKS}
_SOON_DAYS: Final = 14
_tail = re.compile(r"(?:-[a-f0-9]{6,10}-[bcdfghjklmnpqrstvwxz2456789]{5}|-[bcdfghjklmnpqrstvwxz2456789]{5}|-\d{1,5})$")


class ShownExemption(msgspec.Struct, frozen=True):
    reason: str = ""
    expires: str | None = None
    checks: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    containers: tuple[str, ...] = ()


def workload_of(pod: str) -> str:
    """The name of a Pod without what its controller appends: a hash, random letters, or a number."""
    return _tail.sub("", pod)


def by_rule(violations: Sequence[Violation]) -> Markup:
    counts = Counter((each.violation_type, each.severity) for each in violations)
    pods = {
        key: len({each.pod_name for each in violations if (each.violation_type, each.severity) == key})
        for key in counts
    }
    ordered = sorted(counts, key=lambda key: (GRAVEST[key[1]], -counts[key], key[0]))
    rows = [
        row(f"rule-{rule}", rule, chip(severity, LOOKS[severity]), counts[rule, severity], pods[rule, severity])
        for rule, severity in ordered[:_MOST]
    ]
    return el(
        "section", el("h2", "By rule"), table("Violations by rule", ("Rule", "Severity", "Violations", "Pods"), rows)
    )


def remedies(violations: Sequence[Violation]) -> Node:
    """What to change, for each rule that is broken; None if all of them are rules of the policy's own."""
    broken = dict.fromkeys(each.violation_type for each in violations)
    rows = [
        row(f"remedy-{rule}", rule, el("span", one_line(_REMEDIES[rule]), class_="why"))
        for rule in broken
        if _REMEDIES.get(rule)
    ]
    if not rows:
        return None
    body = table("What to change", ("Rule", "In the workload's Pod template, unless it says otherwise"), rows)
    note = el("p", "In braces is YAML to merge in there; its values are examples.", class_="note")
    return el("section", el("h2", "What to change"), body, note)


def by_workload(violations: Sequence[Violation], link: Callable[[str], Node]) -> Markup:
    """`link` makes the name of a workload from that of one of its Pods."""
    counts = Counter(workload_of(each.pod_name) for each in violations)
    worst = {
        name: min((each.severity for each in violations if workload_of(each.pod_name) == name), key=GRAVEST.__getitem__)
        for name in counts
    }
    pods = {workload_of(each.pod_name): each.pod_name for each in violations}
    rows = [
        row(f"workload-{name}", link(pods[name]), chip(worst[name], LOOKS[worst[name]]), count)
        for name, count in sorted(counts.items(), key=lambda each: (GRAVEST[worst[each[0]]], -each[1], each[0]))[:_MOST]
    ]
    note = el("p", "Pods are grouped into workloads by their names.", class_="note")
    body = table("Violations by workload", ("Workload", "Worst", "Violations"), rows)
    return el("section", el("h2", "By workload"), body, note)


def exemptions_table(exemptions: Sequence[ShownExemption], now: datetime) -> Node:
    """The one that ends first comes first; None without exemptions."""
    if not exemptions:
        return None
    ordered = sorted(exemptions, key=lambda each: (each.expires is None, each.expires or "", each.reason))
    rows = [
        row(
            f"exemption-{at}",
            el("span", one_line(each.reason), class_="why"),
            _end(each.expires, now),
            ", ".join(each.checks) or "all checks",
            ", ".join(each.names) or "all Pods",
            ", ".join(each.containers) or "all containers",
        )
        for at, each in enumerate(ordered)
    ]
    headings = ("Exemption", "Ends", "Checks", "Pods", "Containers")
    return el("section", el("h2", "Exemptions"), table("Exemptions", headings, rows))


def _end(expires: str | None, now: datetime) -> Node:
    if expires is None:
        return chip("never", "plain")
    try:
        left = (parse_time(expires) - now).total_seconds()
    except TimestampError:
        return expires
    look, word = (
        ("bad", "ended") if left <= 0 else ("warn", "soon") if left < _SOON_DAYS * 86400 else ("good", "in force")
    )
    return [chip(word, look), " ", moment(expires)]
