"""Names that the segments of a path give: `/sites/north/lamps` says that `site` is `north`. Pure.

A variable comes from the singular of a collection's name, or from a template path that has `{{/site}}` at the place of
`north`. Only the last word of a name such as `sub-nets` counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from homeostat.operators.sync.engine.paths.logical import raw_segments, segments

_pointer = re.compile(r"\{\{\s*/?([A-Za-z_][\w-]*)\s*\}\}").fullmatch
_words = re.compile(r"[-._]")


def variables(path: str, templates: Iterable[str] = ()) -> dict[str, str]:
    parts = segments(path)
    found = {
        singular(word): below
        for collection, below in pairwise(parts)
        if (word := _words.split(collection)[-1]) != singular(word)
    }
    for each in templates:
        found |= _aligned(raw_segments(each), parts) if each.startswith("/") else {}
    return found


def singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 3:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") and len(word) > 1 else word


def _aligned(template: list[str], parts: list[str]) -> dict[str, str]:
    """The names at their places, if all other segments are equal as far as both go."""
    found = dict[str, str]()
    for pattern, part in zip(template, parts, strict=False):
        if (name := _pointer(pattern)) is not None:
            found[name[1]] = part
        elif pattern != part:
            return {}
    return found
