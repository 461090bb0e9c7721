"""The field and label selectors of an access review: what may be wrong with them, and what they select.

They limit what is asked for. So a requirement that is not understood is left out, and the review says so: the answer
is then about more than was asked, never about less.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from homeostat.objects.errors import BadRequestError, Cause, are_enough, forbidden, invalid, required
from homeostat.objects.selectors import FieldTerm, parse_fields, parse_labels
from homeostat.server.kinds.builtins.label_selector import check_requirement

_LABEL_OPERATORS = frozenset({"In", "NotIn", "Exists", "DoesNotExist"})


class Requirement(msgspec.Struct, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class Selector(msgspec.Struct, frozen=True, rename="camel"):
    """Of fields or of labels: as the parameter of a list has it, or as requirements."""

    raw_selector: str = ""
    requirements: tuple[Requirement, ...] = ()


class Fields(NamedTuple):
    """The terms of a field selector, and what the review says of those that were left out."""

    terms: tuple[FieldTerm, ...] = ()
    problem: str = ""


def check_fields(selector: Selector | None, path: str) -> list[Cause]:
    return _check(selector, path, _check_field)


def check_labels(selector: Selector | None, path: str) -> list[Cause]:
    return _check(selector, path, _check_label)


def _check(selector: Selector | None, path: str, check_one: Callable[[Requirement, str], list[Cause]]) -> list[Cause]:
    if selector is None:
        return []
    causes: list[Cause] = []
    if selector.raw_selector and selector.requirements:
        message = "may not specified at the same time as requirements"
        causes.append(invalid(f"{path}.rawSelector", selector.raw_selector, message))
    if not selector.raw_selector and not selector.requirements:
        message = f"when {path} is specified, requirements or rawSelector is required"
        causes.append(required(f"{path}.requirements", message))
    for index, each in enumerate(selector.requirements):
        causes += check_one(each, f"{path}.requirements[{index}]")
        if are_enough(causes):
            break
    return causes


def _check_field(requirement: Requirement, path: str) -> list[Cause]:
    causes = [] if requirement.key else [required(f"{path}.key", "must be specified")]
    if requirement.operator in ("In", "NotIn") and not requirement.values:
        causes.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    if requirement.operator in ("Exists", "DoesNotExist") and requirement.values:
        message = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
        causes.append(forbidden(f"{path}.values", message))
    return causes


def _check_label(requirement: Requirement, path: str) -> list[Cause]:
    known = {"key": requirement.key, "operator": requirement.operator, "values": list(requirement.values)}
    return check_requirement(known, path, allows_unknown=True)


def fields_of(selector: Selector | None) -> Fields:
    if selector is None:
        return Fields()
    if selector.raw_selector:
        try:
            return Fields(parse_fields(selector.raw_selector))
        except BadRequestError:
            return Fields((), _ignored("fieldSelector", is_partial=False))
    # Kubernetes has field selectors with one value only.
    terms = tuple(
        FieldTerm(each.key, each.values[0], each.operator == "In")
        for each in selector.requirements
        if len(each.values) == 1 and each.operator in ("In", "NotIn")
    )
    is_whole = len(terms) == len(selector.requirements)
    return Fields(terms, "" if is_whole else _ignored("fieldSelector", is_partial=bool(terms)))


def label_problem(selector: Selector | None) -> str:
    """What the review says of the requirements on labels that were left out. No authorizer uses the others."""
    if selector is None:
        return ""
    if selector.raw_selector:
        try:
            parse_labels(selector.raw_selector)
        except BadRequestError:
            return _ignored("labelSelector", is_partial=False)
        return ""
    known = sum(each.operator in _LABEL_OPERATORS for each in selector.requirements)
    return "" if known == len(selector.requirements) else _ignored("labelSelector", is_partial=known > 0)


def _ignored(name: str, *, is_partial: bool) -> str:
    how = "partially ignored" if is_partial else "ignored"
    return f"spec.resourceAttributes.{name} {how} due to parse error"
