"""What the policies of Jobs may say of their Pods: which failures count, which indexes are enough."""

from __future__ import annotations

from homeostat.objects.errors import Cause, duplicate, invalid, required, too_long, too_many, unsupported
from homeostat.objects.identifiers import qualified_name
from homeostat.objects.json import Json, JsonObject
from homeostat.server.kinds.builtins.members import integer, items, numbered, struct, structs, text
from homeostat.server.kinds.builtins.value import (
    check_choice,
    check_counts,
    check_domain_path,
    check_required,
    check_text,
    is_integer,
)

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_MOST_RULES, _MOST_CODES, _MOST_MANAGER = 20, 255, 63
_MOST_INDEXES = 100_000


def check_policies(spec: JsonObject, path: str) -> list[Cause]:
    is_indexed = text(spec, "completionMode") == "Indexed"
    causes = _check_indexed(spec, path) if is_indexed else _check_not_indexed(spec, path)
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        causes.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if isinstance(manager := spec.get("managedBy"), str):
        causes += _check_manager(manager, f"{path}.managedBy")
    if isinstance(policy := spec.get("podFailurePolicy"), dict):
        causes += _check_failure_policy(policy, spec, f"{path}.podFailurePolicy")
    if isinstance(policy := spec.get("successPolicy"), dict) and is_indexed and spec.get("completions") is not None:
        causes += _check_success_policy(policy, integer(spec, "completions"), f"{path}.successPolicy")
    replacements = ("Failed",) if spec.get("podFailurePolicy") is not None else ("Failed", "TerminatingOrFailed")
    return causes + check_choice(spec, "podReplacementPolicy", path, replacements)


def _check_indexed(spec: JsonObject, path: str) -> list[Cause]:
    if spec.get("completions") is None:
        return [required(f"{path}.completions", "when completion mode is Indexed")]
    causes = []
    if integer(spec, "parallelism") > _MOST_INDEXES:
        message = f"must be less than or equal to {_MOST_INDEXES} when completion mode is Indexed"
        causes.append(invalid(f"{path}.parallelism", spec["parallelism"], message))
    if spec.get("maxFailedIndexes") is not None and integer(spec, "maxFailedIndexes") > integer(spec, "completions"):
        message = "must be less than or equal to completions"
        causes.append(invalid(f"{path}.maxFailedIndexes", spec["maxFailedIndexes"], message))
    return causes


def _check_not_indexed(spec: JsonObject, path: str) -> list[Cause]:
    is_unknown = text(spec, "completionMode") not in ("", "NonIndexed")
    names = ("successPolicy",) if is_unknown else ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy")
    given = [name for name in names if spec.get(name) is not None]
    return [invalid(f"{path}.{name}", spec[name], "requires indexed completion mode") for name in given]


def _check_manager(manager: str, path: str) -> list[Cause]:
    if not manager:
        return [required(path)]
    causes = check_domain_path(manager, path)
    if len(manager) > _MOST_MANAGER:
        causes.append(too_long(path, _MOST_MANAGER))
    return causes


def _check_failure_policy(policy: JsonObject, spec: JsonObject, path: str) -> list[Cause]:
    pod = struct(spec, "template", "spec")
    names = {text(each, "name") for kind in ("containers", "initContainers") for each in structs(pod, kind)}
    total = len(items(policy, "rules"))
    causes = [too_many(f"{path}.rules", total, _MOST_RULES)] if total > _MOST_RULES else []
    for at, rule in numbered(policy, "rules", path):
        action = text(rule, "action")
        if not action:
            causes.append(required(f"{at}.action", f"valid values: {list(_ACTIONS)}"))
        elif action not in _ACTIONS:
            causes.append(unsupported(f"{at}.action", action, _ACTIONS))
        elif action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            causes.append(invalid(f"{at}.action", action, "requires the backoffLimitPerIndex to be set"))
        codes, conditions = rule.get("onExitCodes"), items(rule, "onPodConditions")
        if isinstance(codes, dict):
            causes += _check_exit_codes(codes, names, f"{at}.onExitCodes")
        if len(conditions) > _MOST_RULES:
            causes.append(too_many(f"{at}.onPodConditions", len(conditions), _MOST_RULES))
        for place, pattern in numbered(rule, "onPodConditions", at):
            causes += check_text(text(pattern, "type"), f"{place}.type", qualified_name)
            causes += check_choice(pattern, "status", place, _STATUSES)
        if bool(conditions) == isinstance(codes, dict):
            told = (
                "both OnExitCodes and OnPodConditions is not supported"
                if conditions
                else ("one of OnExitCodes and OnPodConditions is required")
            )
            causes.append(Cause("FieldValueInvalid", f"Invalid value: specifying {told}", at))
    if text(pod, "restartPolicy") == "OnFailure":
        told = 'only "Never" is supported when podFailurePolicy is specified'
        causes.append(invalid(f"{path.rpartition('.')[0]}.template.spec.restartPolicy", "OnFailure", told))
    return causes


def _check_exit_codes(codes: JsonObject, containers: set[str], path: str) -> list[Cause]:
    causes = check_required(codes, "operator", path)
    if not causes:
        causes = check_choice(codes, "operator", path, _OPERATORS)
    name = codes.get("containerName")
    if isinstance(name, str) and name not in containers:
        told = "must be one of the container or initContainer names in the pod template"
        causes.append(invalid(f"{path}.containerName", name, told))
    values = items(codes, "values")
    if not values:
        causes.append(invalid(f"{path}.values", None, "at least one value is required"))
    elif len(values) > _MOST_CODES:
        causes.append(too_many(f"{path}.values", len(values), _MOST_CODES))
    return causes + _check_values(values[:_MOST_CODES], text(codes, "operator"), f"{path}.values")


def _check_values(values: list[Json], operator: str, path: str) -> list[Cause]:
    numbers = [each for each in values if isinstance(each, int)]
    causes: list[Cause] = []
    seen: set[int] = set()
    for index, number in enumerate(numbers):
        if operator == "In" and number == 0:
            causes.append(invalid(f"{path}[{index}]", number, "must not be 0 for the In operator"))
        if number in seen:
            causes.append(duplicate(f"{path}[{index}]", number))
        seen.add(number)
    if numbers != sorted(numbers):
        causes.append(invalid(path, values, "must be ordered"))
    return causes


def _check_success_policy(policy: JsonObject, completions: int, path: str) -> list[Cause]:
    total = len(items(policy, "rules"))
    if not total:
        return [required(f"{path}.rules", "at least one rules must be specified when the successPolicy is specified")]
    causes = [too_many(f"{path}.rules", total, _MOST_RULES)] if total > _MOST_RULES else []
    for at, rule in numbered(policy, "rules", path):
        indexes, count = rule.get("succeededIndexes"), rule.get("succeededCount")
        if indexes is None and count is None:
            told = "at least one of succeededCount or succeededIndexes must be specified"
            causes.append(required(at, told))
        listed = 0
        if isinstance(indexes, str):
            try:
                listed = _count_of(indexes, completions)
            except ValueError as error:
                told = f"error parsing succeededIndexes: {error}"
                causes.append(invalid(f"{at}.succeededIndexes", indexes, told))
        causes += check_counts(rule, at, "succeededCount")
        most = completions if indexes is None else listed
        if is_integer(count) and integer(rule, "succeededCount") > most:
            told = (
                "the number of specified completions"
                if indexes is None
                else ("the number of indexes in the specified succeededIndexes field")
            )
            causes.append(invalid(f"{at}.succeededCount", count, f"must be less than or equal to {most} ({told})"))
    return causes


def _count_of(indexes: str, completions: int) -> int:
    """How many indexes a text such as `0,2-3` names; `ValueError` if they are not in order or too high."""
    total, last = 0, -1
    for interval in indexes.split(",") if indexes else ():
        ends = interval.split("-")
        if not 1 <= len(ends) <= 2 or not all(each.isdecimal() and each.isascii() for each in ends):
            raise ValueError(f"cannot convert string to integer for index: {interval!r}")
        first, final = int(ends[0][:10]), int(ends[-1][:10])
        if first <= last:
            raise ValueError(f"non-increasing order, previous: {last}, current: {first}")
        if final >= completions or first > final:
            raise ValueError(f"too large index: {interval!r}")
        total, last = total + final - first + 1, final
    return total
