"""Label selectors of a policy's spec, compiled."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from homeostat.objects.errors import BadRequestError
from homeostat.objects.selectors import selector_of
from homeostat.operators.policy.engine.invalid import PolicyFaultError
from homeostat.operators.policy.spec import Selector

Predicate = Callable[[Mapping[str, str]], bool]


def compile_selector(selector: Selector | None, path: str) -> Predicate | None:
    """None if everything matches; `PolicyFaultError` for an invalid selector."""
    if selector is None:
        return None
    try:
        # Through JSON, which turns the tuples of the struct into lists.
        compiled = selector_of(msgspec.json.decode(msgspec.json.encode(selector)))
    except BadRequestError as error:
        raise PolicyFaultError("InvalidSelector", path, str(error)) from error
    return compiled.matches if compiled else None
