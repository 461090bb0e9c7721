"""A cache of results for short texts: whatever users write, it must not fill the memory.

    @cached(4096)
    def kind_key(api_version: str, kind: str) -> str: ...

`lru_cache` bounds the number of results, not their size: a few thousand texts of a megabyte each would be kept.
The result for a longer text is computed each time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Final, ParamSpec, TypeVar, cast

LONGEST: Final = 512
"""Characters of an argument."""

P = ParamSpec("P")
R = TypeVar("R")


def cached(most: int, *, longest: int = LONGEST) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """For functions of texts and numbers, which are passed by position."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        kept = cast("Callable[P, R]", lru_cache(most)(function))

        @wraps(function)
        def find(*args: P.args, **kwargs: P.kwargs) -> R:
            for each in args:
                # Not `isinstance`: this is called for each container of each Pod.
                kind = type(each)
                if (kind is str or kind is bytes) and len(each) > longest:  # type: ignore[arg-type]
                    return function(*args, **kwargs)
            return kept(*args, **kwargs)

        return find

    return decorate
