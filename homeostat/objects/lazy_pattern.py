"""Regular expressions that are compiled when they are first used.

A start imports modules with some dozens of them and uses few; each takes 0.1 to 1 ms to compile. A used one costs
nothing more than a compiled one: the methods of the compiled pattern replace those of the lazy one.
"""

from __future__ import annotations

import re
from typing import AnyStr, cast


class _LazyPattern:
    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self._pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> object:
        # Called only for what the instance does not have yet; `re` itself keeps compiled patterns.
        found: object = getattr(re.compile(self._pattern, self._flags), name)
        setattr(self, name, found)
        return found


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Use it by its methods only: it is no `re.Pattern` for `isinstance` and for the functions of `re`."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))
