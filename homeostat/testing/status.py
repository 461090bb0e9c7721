"""Checks the conventions of the status of an object, whatever its operator.

    obj = await eventually(lambda: client.get(path), lambda obj: condition_of(obj, READY).get("status") == "True")
    check_status(obj)

The conventions hold at any moment, so a test may check each version that a watch delivers. All faults are reported at
once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from homeostat.objects.conditions import ABNORMAL, READY
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.time.timestamp import TimestampError, parse_time

_STATUSES = ("True", "False", "Unknown")
_is_camel_case = re.compile(r"[A-Z][A-Za-z0-9]*", re.ASCII).fullmatch


def condition_of(obj: JsonObject, name: str) -> JsonObject:
    """The condition of this type; empty if there is none."""
    found = (obj.get("status") or {}).get("conditions") or []
    return next((each for each in found if isinstance(each, dict) and each.get("type") == name), {})


def check_status(obj: JsonObject) -> None:
    """Raises `AssertionError` with all faults of the status."""
    if faults := list(_faults(obj)):
        metadata = obj.get("metadata") or {}
        title = f'{obj.get("kind", "object")} "{metadata.get("name", "")}"'
        raise AssertionError("\n".join(f"{title}: {each}" for each in faults))


def _faults(obj: JsonObject) -> Iterator[str]:
    status = obj.get("status") or {}
    generation = (obj.get("metadata") or {}).get("generation") or 0
    yield from _generation_faults("status", status, generation)
    found = status.get("conditions") or []
    conditions = [each for each in found if isinstance(each, dict) and isinstance(each.get("type"), str)]
    if len(conditions) < len(found):
        yield f"{len(found) - len(conditions)} of the conditions have no type"
    for each in conditions:
        yield from _condition_faults(f"condition {each['type']}", each, generation)
    yield from _joint_faults(conditions)


def _joint_faults(conditions: list[JsonObject]) -> Iterator[str]:
    for name, count in Counter(each["type"] for each in conditions).items():
        if count > 1:
            yield f"condition {name} appears {count} times; each type may appear once"
    true = {each["type"] for each in conditions if each.get("status") == "True"}
    if all(each["type"] != READY for each in conditions):
        yield f"condition {READY} is missing; set it to Unknown if it is not known"
    if READY in true:
        for name in ABNORMAL:
            if name in true:
                yield f"condition {name} is True beside {READY}=True"


def _condition_faults(title: str, condition: JsonObject, generation: int) -> Iterator[str]:
    status, reason, message = (condition.get(key) for key in ("status", "reason", "message"))
    if status not in _STATUSES:
        yield f"{title} has status {status!r}; it must be one of {', '.join(_STATUSES)}"
    if not isinstance(reason, str) or not _is_camel_case(reason):
        yield f"{title} has reason {reason!r}; a reason must be a word in CamelCase"
    if status != "True" and (not isinstance(message, str) or not message.strip()):
        yield f"{title} is {status} and has no message; add one"
    yield from _time_faults(title, condition.get("lastTransitionTime"))
    yield from _generation_faults(title, condition, generation)


def _time_faults(title: str, moment: Json) -> Iterator[str]:
    if not isinstance(moment, str):
        yield f"{title} has lastTransitionTime {moment!r}; it is a time as in RFC 3339"
        return
    try:
        parse_time(moment)
    except TimestampError as error:
        yield f"{title} has an invalid lastTransitionTime: {error}"


def _generation_faults(title: str, holder: JsonObject, generation: int) -> Iterator[str]:
    observed = holder.get("observedGeneration", 0)
    if isinstance(observed, bool) or not isinstance(observed, int):
        yield f"{title} has observedGeneration {observed!r}; it is a number"
    elif observed > generation:
        yield f"{title} has observedGeneration {observed}, but the object's generation is {generation}"
