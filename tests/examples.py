"""The number of examples of a property test: few in the profile `fast`, which `make test-fast` uses."""

from __future__ import annotations

from hypothesis import settings

FAST = 20
_USUAL = settings.get_profile("default").max_examples


def examples(most: int, *, derandomize: bool = False) -> settings:
    is_fast = settings.default is not None and settings.default.max_examples < _USUAL
    return settings(max_examples=min(most, FAST) if is_fast else most, deadline=None, derandomize=derandomize)
