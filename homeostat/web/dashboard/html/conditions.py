"""The conditions of an object as a table. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from homeostat.objects.conditions import ABNORMAL, PAUSED, RECONCILING, Condition
from homeostat.objects.json import Json
from homeostat.web.dashboard.html.components import chip, message_text, moment, reason_text, row, table
from homeostat.web.dashboard.html.markup import Node, el

_ABNORMAL: Final = frozenset(
    {*ABNORMAL, "Conflicting", "Degraded", "SharedScope", "ReplicaFailure", "Failed", "FailureTarget"}
    | {"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable", "NonStructuralSchema"}
)
_NEUTRAL: Final = frozenset({"Pinned", PAUSED, "Suspended", "SuccessCriteriaMet"})
"""Neither value of these is bad."""


def conditions_table(conditions: Sequence[Condition], abnormal: Collection[str] = ()) -> Node:
    """None without conditions. `abnormal` are further types that are good when False."""
    if not conditions:
        return None
    rows = [
        row(
            f"condition-{each.type}",
            each.type,
            chip(each.status, look_of(each, abnormal)),
            reason_text(each.reason),
            message_text(each.message),
            moment(each.last_transition_time),
        )
        for each in conditions
    ]
    headings = ("Condition", "Status", "Reason", "Message", "Since")
    return el("section", el("h2", "Conditions"), table("Conditions", headings, rows, class_="cards"))


def unobserved(generation: Json, observed: Json, conditions: Sequence[Condition] = ()) -> Node:
    """Says that what an operator reported is older than the declaration; None if it is not, or that is unknown."""
    seen = [each.observed_generation for each in conditions if isinstance(each.observed_generation, int)]
    newest = max([observed, *seen] if isinstance(observed, int) else seen, default=0)
    if not isinstance(generation, int) or not 0 < newest < generation:
        return None
    text = f"Applied. The operator has not reconciled generation {generation} yet. What it reports is older: "
    return el("p", f"{text}of generation {newest}.", class_="note unobserved", role="status")


def look_of(condition: Condition, abnormal: Collection[str] = ()) -> str:
    if condition.status == "Unknown":
        return "phase-pending"
    if condition.type in _NEUTRAL:
        return "plain"
    if condition.type not in _ABNORMAL and condition.type not in abnormal:
        return "good" if condition.status == "True" else "bad"
    if condition.status == "False":
        return "plain"
    return "phase-reconciling" if condition.type == RECONCILING else "bad"
