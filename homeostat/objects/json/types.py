"""Checks of the JSON types in a document from outside.

A form is a function that reports the values with a wrong type. Documents that our own code validates pass through their
form first, so that the validation can rely on strings being strings. `null` counts as absent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from homeostat.objects.errors import Cause, type_invalid
from homeostat.objects.json import Json, type_name

Form = Callable[[Json, str], list[Cause]]


def _of_type(wanted: str, *allowed: str) -> Form:
    def check(value: Json, path: str) -> list[Cause]:
        found = type_name(value)
        if found in allowed or found == "null":
            return []
        return [type_invalid(path, found, f"must be {wanted}")]

    return check


text = _of_type("a string", "string")
flag = _of_type("a boolean", "boolean")
whole = _of_type("an integer", "integer")
number = _of_type("a number", "integer", "number")
any_list = _of_type("an array", "array")
any_object = _of_type("an object", "object")


def list_of(form: Form) -> Form:
    def check(value: Json, path: str) -> list[Cause]:
        if not isinstance(value, list):
            return any_list(value, path)
        causes: list[Cause] = []
        for at, each in enumerate(value):
            where = f"{path}[{at}]"
            causes += form(each, where) if each is not None else [type_invalid(where, "null", "must not be null")]
        return causes

    return check


def map_of(form: Form) -> Form:
    """An object with any keys."""

    def check(value: Json, path: str) -> list[Cause]:
        if not isinstance(value, dict):
            return any_object(value, path)
        causes: list[Cause] = []
        for key, each in value.items():
            where = f"{path}[{key}]"
            causes += form(each, where) if each is not None else [type_invalid(where, "null", "must not be null")]
        return causes

    return check


def object_of(members: Mapping[str, Form]) -> Form:
    """An object with known members; others are ignored."""

    def check(value: Json, path: str) -> list[Cause]:
        if not isinstance(value, dict):
            return any_object(value, path)
        causes: list[Cause] = []
        for key, each in value.items():
            form = members.get(key)
            if form is not None and each is not None:
                causes += form(each, f"{path}.{key}" if path else key)
        return causes

    return check
