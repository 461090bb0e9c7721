"""Whether a person has set another tag than ours: then it stays until the pin is removed. Pure.

The operator remembers the tag that it saw or wrote last. A file with a third tag, neither that one nor the one that is
due, was changed by somebody else: a rollback, or a version chosen by hand.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence


def is_set_by_hand(current: Sequence[str], *, known: Collection[str], wanted: str) -> bool:
    """`known` are the tags that the operator saw or may have written; without any, nothing is known of the past."""
    past = [each for each in known if each]
    return bool(past) and any(each not in past and each != wanted for each in current)
