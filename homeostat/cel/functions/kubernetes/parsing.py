"""What functions that parse a text share: `isIP` answers whether `ip` would accept a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from homeostat.cel.errors import EvaluationError


def parses(parse: Callable[..., object]) -> Callable[..., bool]:
    """A function that answers whether `parse` accepts its arguments."""

    def is_accepted(*arguments: Any) -> bool:
        try:
            parse(*arguments)
        except EvaluationError:
            return False
        return True

    return is_accepted


def parse_cost(text: str, *_: Any) -> int:
    """A tenth of the length of the text, as Kubernetes counts it."""
    return len(text) // 10 + 1
