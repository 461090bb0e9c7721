"""Explains why an object does not match its schema, in the words of Kubernetes.

The engine in `json_schema.py` only says whether an object is valid; this walk finds every invalid field and the
reason. It runs for rejected requests only, and its answer is the final one. On an update it ratchets: it skips a value
that equals the old value at the same place, so that an object which an older schema accepted can still be changed
elsewhere.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs

from homeostat.objects.errors import (
    MOST_CAUSES,
    Cause,
    invalid,
    quoted,
    required,
    shown,
    too_long,
    too_many,
    type_invalid,
)
from homeostat.objects.identifiers import dns1035_label
from homeostat.objects.json import Json, JsonObject, type_name
from homeostat.objects.schema.cost import MOST_STEPS, TooComplexError, Validation, pattern_steps
from homeostat.objects.schema.formats import format_check
from homeostat.objects.schema.json_schema import INT64_HIGHEST, INT64_LOWEST
from homeostat.objects.schema.list_types import identity
from homeostat.objects.schema.pattern import fits, is_too_long
from homeostat.objects.schema.schema import UNSET, Schema

_COMBINATIONS = frozenset(("allOf", "anyOf", "oneOf", "not"))
_MOST_NAMES = 1024
"""How many supported values a message lists; it would be cut off before the next one."""


def explain(
    value: Json, schema: Schema, old: Json = UNSET, *, path: str = "", run: Validation | None = None
) -> list[Cause]:
    """The causes for which `value` is invalid. `old` is the previous value at the same place, on an update.

    A validation that needs more steps than `run` has left (`MOST_STEPS` if it is new) ends with a cause that says so.
    """
    try:
        return _check(value, schema, path, old, run or Validation())
    except TooComplexError:
        return [too_complex(path)]


def too_complex(path: str = "") -> Cause:
    return Cause(
        "FieldValueForbidden",
        f"Forbidden: validating this value against its schema takes more than {MOST_STEPS} steps; "
        "use fewer items, or a schema with fewer alternatives (anyOf, oneOf, allOf, enum, pattern)",
        path,
    )


def is_same(one: Json, other: Json) -> bool:
    """Equal as JSON; true is not 1."""
    try:
        return bool(one == other) and bool(identity(one) == identity(other))
    except RecursionError:
        return False


def _check(value: Json, node: Schema, path: str, old: Json, run: Validation) -> list[Cause]:
    if run.branch_depth:
        run.spend()
    causes = _type_causes(value, node, path)
    if value is None:
        return causes + _enum_causes(value, node, path, run)
    causes += _combination_causes(value, node, path, run)
    match value:
        case str():
            causes += _string_causes(value, node, path, run)
        case bool():
            pass
        case int() | float():
            causes += _number_causes(value, node.constraints, path)
        case list():
            causes += _list_causes(value, node, path, old, run)
    causes += _enum_causes(value, node, path, run)
    if isinstance(value, dict):
        causes += _object_causes(value, node, path, old, run)
    return causes[:MOST_CAUSES]


def _type_causes(value: Json, node: Schema, path: str) -> list[Cause]:
    wanted = ("integer", "string") if node.int_or_string else (node.type,) if node.type else ()
    if not wanted or (value is None and node.nullable):
        return []
    found = _json_type(value)
    if found in wanted or (found == "integer" and "number" in wanted):
        return []
    if isinstance(value, float) and "integer" in wanted and _is_whole(value):
        return []
    return [type_invalid(path, found, f"{path} in body must be of type {','.join(wanted)}: {quoted(found)}")]


def _json_type(value: Json) -> str:
    found = type_name(value)
    # A JSON number beyond 64 bits is a float to Go, and the message says so.
    return "number" if found == "integer" and not INT64_LOWEST <= value <= INT64_HIGHEST else found


def _is_whole(value: float) -> bool:
    return value.is_integer() and INT64_LOWEST <= int(value) <= INT64_HIGHEST


def _string_causes(value: str, node: Schema, path: str, run: Validation) -> list[Cause]:
    rules, causes = node.constraints, []
    if (most := rules.get("maxLength")) is not None and len(value) > most:
        causes.append(too_long(path, most))
    if (least := rules.get("minLength")) is not None and len(value) < least:
        causes.append(invalid(path, value, f"{path} in body should be at least {least} chars long"))
    if pattern := rules.get("pattern"):
        is_long = is_too_long(pattern, value)
        run.spend(0 if is_long else pattern_steps(node) * len(value) // 16)
        if is_long or not fits(pattern, value):
            causes.append(_pattern_cause(value, pattern, path))
    check = format_check(node.format)
    if check and not check(value):
        causes.append(type_invalid(path, value, f"{path} in body must be of type {node.format}: {shown(value)}"))
    return causes


def _pattern_cause(value: str, pattern: str, path: str) -> Cause:
    message = f"{path} in body should match '{pattern}'"
    if not is_too_long(pattern, value):
        return invalid(path, value, message)
    return invalid(path, f"{value[:64]}...", f"{message}; a value of {len(value)} characters is too long to check")


def _number_causes(value: float, rules: dict[str, Any], path: str) -> list[Cause]:
    causes = []
    if (step := rules.get("multipleOf")) is not None and step <= 0:
        causes.append(invalid(path, step, f"{path} in body should be a multiple of a number that must be positive"))
    elif step is not None and not _multiple_of(step)(value):
        causes.append(invalid(path, value, f"{path} in body should be a multiple of {quoted(step)}"))
    most, exclusive = rules.get("maximum"), rules.get("exclusiveMaximum") is True
    if most is not None and (value > most or (exclusive and value == most)):
        words = "less than" if exclusive else "less than or equal to"
        causes.append(invalid(path, value, f"{path} in body should be {words} {quoted(most)}"))
    least, exclusive = rules.get("minimum"), rules.get("exclusiveMinimum") is True
    if least is not None and (value < least or (exclusive and value == least)):
        words = "greater than" if exclusive else "greater than or equal to"
        causes.append(invalid(path, value, f"{path} in body should be {words} {quoted(least)}"))
    return causes


@lru_cache(maxsize=256)
def _multiple_of(step: float) -> Any:
    """Decimal fractions need rounding; this rounds as the engine in `json_schema.py` does."""
    return jsonschema_rs.Draft7Validator({"multipleOf": step}).is_valid


def _list_causes(values: list[Json], node: Schema, path: str, old: Json, run: Validation) -> list[Cause]:
    causes: list[Cause] = []
    if node.items is not None:
        before = _old_items(node, old)
        for at, each in enumerate(values):
            was = before.get(_key_of(each, node.map_keys), UNSET) if before else UNSET
            if was is UNSET or not is_same(each, was):
                causes += _check(each, node.items, f"{path}[{at}]", was, run)
            if len(causes) > MOST_CAUSES:
                return causes
    rules = node.constraints
    if (least := rules.get("minItems")) is not None and len(values) < least:
        causes.append(invalid(path, len(values), f"{path} in body should have at least {least} items"))
    if (most := rules.get("maxItems")) is not None and len(values) > most:
        causes.append(too_many(path, len(values), most))
    return causes


def _old_items(node: Schema, old: Json) -> dict[Json, Json]:
    """The previous value of each item. Only items of a list-map can be matched, by key; all others count as new."""
    if node.list_type != "map" or not isinstance(old, list):
        return {}
    return {_key_of(each, node.map_keys): each for each in old}


def _key_of(item: Json, keys: tuple[str, ...]) -> Json:
    return tuple([identity(item.get(key)) for key in keys]) if isinstance(item, dict) else identity(item)


def _object_causes(value: JsonObject, node: Schema, path: str, old: Json, run: Validation) -> list[Cause]:
    rules = node.constraints
    if (least := rules.get("minProperties")) is not None and len(value) < least:
        return [invalid(path, len(value), f"{path} in body should have at least {least} properties")]
    if (most := rules.get("maxProperties")) is not None and len(value) > most:
        return [too_many(path, len(value), most)]
    before = old if isinstance(old, dict) else {}
    causes = _embedded_causes(value, path) if node.embedded else []
    for key, child in value.items():
        member = node.properties.get(key, node.additional)
        if member is None:
            continue
        was = before.get(key, UNSET)
        if was is UNSET or not is_same(child, was):
            causes += _check(child, member, f"{path}.{key}" if path else key, was, run)
        if len(causes) > MOST_CAUSES:
            return causes
    missing = (key for key in node.required if key not in value)
    return causes + [required(f"{path}.{key}" if path else key) for key in islice(missing, MOST_CAUSES)]


def _embedded_causes(value: JsonObject, path: str) -> list[Cause]:
    causes = []
    for key in ("apiVersion", "kind"):
        if value.get(key) is None:
            causes.append(required(f"{path}.{key}"))
        elif value[key] == "":
            causes.append(invalid(f"{path}.{key}", "", "must not be empty"))
        elif not isinstance(value[key], str):
            causes.append(invalid(f"{path}.{key}", value[key], "must be a string"))
    version, kind = value.get("apiVersion"), value.get("kind")
    if isinstance(version, str) and version.count("/") > 1:
        causes.append(invalid(f"{path}.apiVersion", version, f"unexpected GroupVersion string: {version}"))
    if isinstance(kind, str) and kind and (messages := dns1035_label(kind.lower())):
        message = f"may have mixed case, but should otherwise match: {','.join(messages)}"
        causes.append(invalid(f"{path}.kind", kind, message))
    if "metadata" in value and not isinstance(value["metadata"], dict):
        causes.append(invalid(f"{path}.metadata", value["metadata"], "must be an object"))
    return causes


def _enum_causes(value: Json, node: Schema, path: str, run: Validation) -> list[Cause]:
    known = node.constraints.get("enum")
    if not known:
        return []
    if identity(value) in run.known(known):
        return []
    listed = islice(known, _MOST_NAMES)
    names = ", ".join(quoted(each if isinstance(each, str) else quoted(each)) for each in listed)
    return [Cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {names}", path)]


def _combination_causes(value: Json, node: Schema, path: str, run: Validation) -> list[Cause]:
    rules = node.constraints
    if not _COMBINATIONS.isdisjoint(rules):
        return _failed_combinations(value, rules, path, run)
    return []


def _failed_combinations(value: Json, rules: dict[str, Any], path: str, run: Validation) -> list[Cause]:
    causes: list[Cause] = []
    if rules.get("anyOf"):
        results = _results(value, rules["anyOf"], path, run)
        if all(results):
            message = f"{quoted(path)} must validate at least one schema (anyOf)"
            causes += [invalid(path, "", message), *min(results, key=len)]
    if rules.get("oneOf"):
        results = _results(value, rules["oneOf"], path, run)
        valid = results.count([])
        if valid != 1:
            found = f"Found {valid} valid alternatives" if valid else "Found none valid"
            message = f"{quoted(path)} must validate one and only one schema (oneOf). {found}"
            causes += [invalid(path, "", message), *(() if valid else min(results, key=len))]
    if rules.get("allOf"):
        results = _results(value, rules["allOf"], path, run)
        if any(results):
            none = ". None validated" if all(results) else ""
            message = f"{quoted(path)} must validate all the schemas (allOf){none}"
            causes += [*(cause for result in results for cause in result), invalid(path, "", message)]
    if "not" in rules and not _results(value, [rules["not"]], path, run)[0]:
        causes.append(invalid(path, "", f"{quoted(path)} must not validate the schema (not)"))
    return causes


def _results(value: Json, schemas: list[JsonObject], path: str, run: Validation) -> list[list[Cause]]:
    run.branch_depth += 1
    results = [_check(value, run.branch(each), path, UNSET, run) for each in schemas]
    run.branch_depth -= 1
    return results
