"""What built-in types and their fields mean, for `kubectl explain` and everybody else who reads OpenAPI.

The texts are under `data/`, a file for each package of types, and are read when a document is first requested:

    Pod One or more containers that run together on one node.
     spec What is wanted.

`common.txt` has the texts of fields that many types share, by the end of the type's name.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from typing import Final

from homeostat.objects.wire.type_table import BuiltinType, type_named

Texts = dict[str, dict[str, str]]
"""By type and field; the field is empty for the text of the type itself."""
_ITSELF: Final = ""
_ENDS: Final = {"List": "A list of {} objects.", "Condition": "One observation of the state of a {}."}
_SHARED: Final = "common"


def describe_type(builtin: BuiltinType) -> str:
    """Empty if there is no text."""
    package, _, short = builtin.name.rpartition(".")
    if text := texts_of(package).get(short, {}).get(_ITSELF):
        return text
    ends = ((end, short.removesuffix(end)) for end in _ENDS if short.endswith(end))
    return next((_ENDS[end].format(name) for end, name in ends), "")


def describe_field(builtin: BuiltinType, name: str) -> str:
    """The text of the type's own, of a struct whose fields stand in it, or the one that many types share."""
    return _own_text(builtin, name) or _shared_text(builtin.name.rpartition(".")[2], name)


def _own_text(builtin: BuiltinType, name: str) -> str:
    package, _, short = builtin.name.rpartition(".")
    if text := texts_of(package).get(short, {}).get(name):
        return text
    embedded = (type_named(each.type) for each in builtin.fields if not each.name)
    return next(filter(None, (_own_text(each, name) for each in embedded)), "")


def _shared_text(short: str, name: str) -> str:
    """Of several, the last: the ends of names grow longer in the file."""
    fitting = (fields for end, fields in texts_of(_SHARED).items() if short.endswith(end.removeprefix("*")))
    return ([fields[name] for fields in fitting if name in fields] or [""])[-1]


@cache
def texts_of(package: str) -> Texts:
    try:
        data = pkgutil.get_data(__package__, f"data/{package}.txt")
    except OSError:
        return {}
    assert data is not None
    texts: Texts = {}
    for line in data.decode().splitlines():
        name, _, text = line.strip().partition(" ")
        if line[0] != " ":
            fields = texts[name] = {_ITSELF: text} if text else {}
        else:
            fields[name] = text
    return texts
