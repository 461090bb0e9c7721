"""The number of examples of a property test, by profile of hypothesis.

`usual` is the profile of `make test`, with a quarter of what a test asks for; `thorough` takes all of it
(`make test ARGS="--hypothesis-profile thorough tests/objects"`), and `fast`, which `make test-fast` uses, few.
"""

from __future__ import annotations

from hypothesis import settings

FAST = 20
USUAL = 25
THOROUGH = 100


def examples(most: int, *, derandomize: bool = False, base: settings | None = None) -> settings:
    """Settings for up to `most` examples, beside those of `base`."""
    if base is not None:
        return settings(base, max_examples=examples_of(most))
    return settings(max_examples=examples_of(most), deadline=None, derandomize=derandomize)


def examples_of(most: int) -> int:
    """Up to `most`, by the profile in force."""
    in_force = settings.default.max_examples if settings.default is not None else THOROUGH
    return min(most, FAST) if in_force <= FAST else max(1, most * min(in_force, THOROUGH) // THOROUGH)
