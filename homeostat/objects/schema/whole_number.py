"""Whole numbers that were written with a point or an exponent: Kubernetes turns 2.0 or 2e0 into 2. Pure.

This concerns custom kinds, whose fields have no Go types. A number beyond 64 bits stays a float.
"""

from __future__ import annotations

from homeostat.objects.json import Json, whole
from homeostat.objects.lazy_pattern import lazy_pattern

_ALIKE = bytes.maketrans(b"123456789E", b"000000000e")
_NUMBER = lazy_pattern(rb"[:,\[\s][-+]?[0-9]+[.eE]")


def may_hold_floats(text: bytes) -> bool:
    """Whether a JSON or YAML text may contain floats; False is certain."""
    alike = text.translate(_ALIKE)
    # Far quicker than the search, and sufficient for most texts.
    return (b"0." in alike or b"0e" in alike) and _NUMBER.search(text) is not None


def make_whole(value: Json) -> None:
    """In place."""
    stack: list[Json] = [value]
    while stack:
        each = stack.pop()
        if type(each) is dict:
            for name, member in each.items():
                if type(member) is float:
                    each[name] = whole(member)
                elif type(member) in (dict, list):
                    stack.append(member)
        elif type(each) is list:
            for at, member in enumerate(each):
                if type(member) is float:
                    each[at] = whole(member)
                elif type(member) in (dict, list):
                    stack.append(member)
