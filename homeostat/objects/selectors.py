"""Label selectors and field selectors: parsed once, then matched against many objects.

    app=web,tier in (front,back),!canary        environment!=test,replicas>3

A selector is a value that can be printed back, and `matches` is a function compiled from it. A missing label fails `=`
and `in` and passes `!=` and `notin`, as in Kubernetes. Everything malformed is a `BadRequestError`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from homeostat.objects.errors import BadRequestError, quoted
from homeostat.objects.json import Json, type_name
from homeostat.objects.lazy_pattern import lazy_pattern

Labels = Mapping[str, str]
Predicate = Callable[[Labels], bool]
MAX_TERMS = 100
"""Terms of a `labelSelector` or `fieldSelector`: a watch tests each of them on every event."""

Operator = Literal["=", "==", "!=", "in", "notin", "exists", "!", ">", "<"]

_NAME = lazy_pattern(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_PREFIX = lazy_pattern(r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_TOKEN = lazy_pattern(r"[ \t\r\n]*(?:(==|!=|[=!<>(),])|([^ \t\r\n=!<>(),]+)|$)")
_INTEGER = lazy_pattern(r"[+-]?[0-9]+")


class Requirement(msgspec.Struct, frozen=True):
    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def __str__(self) -> str:
        match self.operator:
            case "exists":
                return self.key
            case "!":
                return f"!{self.key}"
            case "in" | "notin":
                return f"{self.key} {self.operator} ({','.join(sorted(self.values))})"
            case _:
                return f"{self.key}{self.operator}{self.values[0]}"


class LabelSelector(msgspec.Struct, frozen=True):
    """`matches` takes the labels of an object. A selector without requirements matches everything, except `NOTHING`."""

    requirements: tuple[Requirement, ...]
    matches: Predicate

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))

    def __bool__(self) -> bool:
        """Whether there is anything to match."""
        return bool(self.requirements) or self is NOTHING


def _always(labels: Labels) -> bool:  # noqa: ARG001
    return True


def _never(labels: Labels) -> bool:  # noqa: ARG001
    return False


EVERYTHING = LabelSelector((), _always)
NOTHING = LabelSelector((), _never)


def parse_labels(text: str) -> LabelSelector:
    """The selector of a `labelSelector` parameter."""
    if not text or text.isspace():
        return EVERYTHING
    requirements = _Parser(text).requirements()
    _check_count(len(requirements))
    return _selector(requirements)


def _check_count(count: int) -> None:
    if count > MAX_TERMS:
        raise BadRequestError(f"the selector has {count} terms; use at most {MAX_TERMS}, or `in (a, b)` for values")


def selector_of(value: Json) -> LabelSelector:
    """The selector of a LabelSelector object; null matches nothing, an empty one everything."""
    if value is None:
        return NOTHING
    if not isinstance(value, dict):
        raise BadRequestError(f"a label selector must be an object, not {type_name(value)}")
    labels, expressions = value.get("matchLabels"), value.get("matchExpressions")
    labels = {} if labels is None else labels
    expressions = [] if expressions is None else expressions
    if not isinstance(labels, dict):
        raise BadRequestError(f"matchLabels must be an object, not {type_name(labels)}")
    if not isinstance(expressions, list):
        raise BadRequestError(f"matchExpressions must be an array, not {type_name(expressions)}")
    requirements = [_requirement(key, "=", (labels[key],)) for key in sorted(labels)]
    return _selector([*requirements, *map(_expression, expressions)])


_OPERATORS: dict[Json, Operator] = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def selects(selector: Json, labels: Labels) -> bool:
    """Whether a selector of an object matches; an invalid one matches nothing."""
    try:
        return selector_of(selector).matches(labels)
    except BadRequestError:
        return False


def _expression(value: Json) -> Requirement:
    if not isinstance(value, dict):
        raise BadRequestError(f"a match expression must be an object, not {type_name(value)}")
    name = value.get("operator")
    operator = _OPERATORS.get(name) if isinstance(name, str) else None
    if operator is None:
        raise BadRequestError(f"{quoted(name)} is not a valid label selector operator")
    values = value.get("values") or []
    if not isinstance(values, list):
        raise BadRequestError(f"the values of a match expression must be an array, not {type_name(values)}")
    return _requirement(value.get("key"), operator, tuple(values))


def _requirement(key: Json, operator: Operator, values: tuple[Json, ...]) -> Requirement:
    if not isinstance(key, str) or not _is_key(key):
        raise BadRequestError(
            f"key: Invalid value: {quoted(key)}: name part must be a qualified name of at most 63 bytes"
        )
    for value in values:
        if not isinstance(value, str) or not (value == "" or (len(value) <= 63 and _NAME.fullmatch(value))):
            raise BadRequestError(f"values: Invalid value: {quoted(value)}: a valid label is at most 63 bytes of name")
    if operator in ("in", "notin") and not values:
        raise BadRequestError("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty")
    if operator in ("exists", "!") and values:
        raise BadRequestError("values: Invalid value: values set must be empty for exists and does not exist")
    if operator in ("<", ">") and not _INTEGER.fullmatch(values[0]):
        raise BadRequestError(
            f"values[0]: Invalid value: {quoted(values[0])}: for 'Gt', 'Lt' operators, must be an integer"
        )
    return Requirement(key, operator, values)


def _is_key(key: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= 253 and _PREFIX.fullmatch(prefix)):
        return False
    return len(name) <= 63 and _NAME.fullmatch(name) is not None


class _Parser:
    """The grammar of the query parameter, over its tokens."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[tuple[bool, str]] = []
        self._next = 0
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            assert found is not None
            place = found.end()
            if found.group(1) or found.group(2):
                self._tokens.append((bool(found.group(1)), found.group(1) or found.group(2)))

    def requirements(self) -> list[Requirement]:
        found = [self._one()]
        while self._next < len(self._tokens):
            token = self._take()
            if token != (True, ","):
                raise self._wrong(token[1], "',' or 'end of string'")
            found.append(self._one())
        return sorted(found, key=lambda each: each.key)

    def _one(self) -> Requirement:
        is_mark, text = self._take()
        if is_mark and text == "!":
            return _requirement(self._word(), "!", ())
        if is_mark or not text:
            raise self._wrong(text, "'!' or an identifier")
        if self._peek() in ((False, ""), (True, ",")):
            return _requirement(text, "exists", ())
        _, operator = self._take()
        match operator:
            case "in" | "notin":
                return _requirement(text, operator, self._values())
            case "=" | "==" | "!=" | "<" | ">":
                return _requirement(text, operator, (self._value(),))
            case _:
                raise self._wrong(operator, "in, notin, =, ==, !=, <, >")

    def _values(self) -> tuple[str, ...]:
        token = self._take()
        if token != (True, "("):
            raise self._wrong(token[1], "'('")
        values = [self._value()]
        while (token := self._take()) == (True, ","):
            values.append(self._value())
        if token != (True, ")"):
            raise self._wrong(token[1], "',' or ')'")
        return tuple(dict.fromkeys(values))

    def _value(self) -> str:
        """A word, or nothing where a value ends."""
        is_mark, text = self._peek()
        if not text or (is_mark and text in (",", ")")):
            return ""
        return self._word()

    def _word(self) -> str:
        is_mark, text = self._take()
        if is_mark or not text:
            raise self._wrong(text, "an identifier")
        return text

    def _peek(self) -> tuple[bool, str]:
        return self._tokens[self._next] if self._next < len(self._tokens) else (False, "")

    def _take(self) -> tuple[bool, str]:
        token = self._peek()
        self._next += 1
        return token

    def _wrong(self, found: str, expected: str) -> BadRequestError:
        return BadRequestError(f"unable to parse requirement: found {quoted(found)}, expected: {expected}")


def _selector(requirements: list[Requirement]) -> LabelSelector:
    if not requirements:
        return EVERYTHING
    equal = [(each.key, each.values[0]) for each in requirements if each.operator in ("=", "==")]
    tests = [_test(each) for each in requirements if each.operator not in ("=", "==")]
    return LabelSelector(tuple(requirements), _all_of(equal, tests))


def _all_of(equal: list[tuple[str, str]], tests: list[Predicate]) -> Predicate:
    if not tests and len(equal) == 1:
        ((key, value),) = equal
        return lambda labels: labels.get(key) == value
    if not equal and len(tests) == 1:
        return tests[0]

    def matches(labels: Labels) -> bool:
        for key, value in equal:
            if labels.get(key) != value:
                return False
        for test in tests:  # noqa: SIM110 (the loop is twice as fast)
            if not test(labels):
                return False
        return True

    return matches


def _test(requirement: Requirement) -> Predicate:
    key, values = requirement.key, frozenset(requirement.values)
    match requirement.operator:
        case "in":
            return lambda labels: labels.get(key) in values
        case "notin" | "!=":
            return lambda labels: labels.get(key) not in values
        case "exists":
            return lambda labels: key in labels
        case "!":
            return lambda labels: key not in labels
        case _:
            return _comparison(key, requirement.operator, int(requirement.values[0]))


def _comparison(key: str, operator: str, bound: int) -> Predicate:
    def matches(labels: Labels) -> bool:
        value = labels.get(key)
        if value is None or len(value) > 20 or not _INTEGER.fullmatch(value):
            return False
        return int(value) > bound if operator == ">" else int(value) < bound

    return matches


class FieldTerm(msgspec.Struct, frozen=True):
    """One condition of a field selector: `metadata.name=web`, or `!=`."""

    field: str
    value: str
    equal: bool = True

    def __str__(self) -> str:
        return f"{self.field}{'=' if self.equal else '!='}{_ESCAPED.sub(_escape, self.value)}"


_ESCAPED = lazy_pattern(r"[\\,=]")
_FIELD_TERM = lazy_pattern(r"((?:[^\\,=!]|!(?!=))*)(!=|==|=)((?:[^\\,=]|\\[\\,=])*)(?:,|$)")


def _escape(found: re.Match[str]) -> str:
    return "\\" + found.group()


def parse_fields(text: str) -> tuple[FieldTerm, ...]:
    """The terms of a `fieldSelector` parameter, all of which must hold. `\\`, `,` and `=` in values are escaped."""
    terms = []
    place = 0
    while place < len(text):
        if text[place] == ",":
            place += 1
            continue
        found = _FIELD_TERM.match(text, place)
        if found is None or not found.group(1):
            raise BadRequestError(f"invalid selector: {quoted(text)}; can't understand {quoted(text[place:])}")
        field, operator, value = found.groups()
        terms.append(FieldTerm(field, re.sub(r"\\(.)", r"\1", value, flags=re.DOTALL), operator != "!="))
        place = found.end()
        _check_count(len(terms))
    return tuple(terms)
