"""What a cell of a server's own column says of an object, so that a list shows what needs somebody. Pure.

The columns of all kinds have a few names in common for a state (`Ready`, `Status`, `Phase`). A word that is not known
is shown as it is: nothing is called healthy because it is unknown.
"""

from __future__ import annotations

import re
from typing import Final

from homeostat.objects.json import Json
from homeostat.web.dashboard.html.components import chip, one_line
from homeostat.web.dashboard.html.markup import Node

_STATES: Final = frozenset(
    {"Ready", "Status", "Phase", "State", "Healthy", "Available", "Established", "Type", "Health"}
)
_GOOD: Final = frozenset(
    "running active available bound succeeded completed complete ready true yes healthy".split()  # noqa: SIM905
)
_BUSY: Final = frozenset({"containercreating", "podinitializing", "reconciling", "progressing"})
_WAIT: Final = frozenset({"pending", "schedulinggated", "released"})
_WARN: Final = frozenset({"unknown", "warning", "degraded", "schedulingdisabled"})
_BAD: Final = frozenset(
    {"failed", "lost", "false", "no", "notready", "evicted", "oomkilled", "unhealthy", "deadlineexceeded"}
)
_is_bad_word: Final = re.compile(r"(backoff|error|^err|cannotrun|invalid)").search
_ratio: Final = re.compile(r"(\d+)/(\d+)").fullmatch


def look_of_cell(column: str, text: str, kind: str = "") -> str:
    """The look of a chip; empty for a cell that is no state, or an unknown one."""
    if column not in _STATES:
        return ""
    if found := _ratio(text):
        # Of a Pod the status says more: one that has completed is not ready either.
        return "" if kind == "Pod" or int(found[1]) >= int(found[2]) else "warn"
    # `Init:CrashLoopBackOff`, `Ready,SchedulingDisabled`: the last word is the one that matters.
    word = re.split("[:,]", text)[-1].strip().lower()
    if word in _BAD or _is_bad_word(word):
        return "bad"
    if word == "terminating":
        return "phase-deleting"
    for words, look in ((_GOOD, "good"), (_BUSY, "phase-reconciling"), (_WAIT, "phase-pending"), (_WARN, "warn")):
        if word in words:
            return look
    return "phase-reconciling" if text.startswith("Init:") else ""


def text_of_cell(value: Json) -> str:
    if value is None:
        return ""
    return ("yes" if value else "no") if isinstance(value, bool) else one_line(str(value))


def cell(column: str, text: str, kind: str) -> Node:
    look = look_of_cell(column, text, kind)
    return chip(text, look) if look else text
