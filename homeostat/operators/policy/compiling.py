"""Compiles policies without blocking the event loop: one large policy must not delay all others."""

from __future__ import annotations

import asyncio
from typing import Final

from homeostat.operators.policy.engine.evaluator import Evaluator, compile_policy
from homeostat.operators.policy.engine.invalid import Fault
from homeostat.operators.policy.engine.rule import rule_characters
from homeostat.operators.policy.spec import PolicySpec

_SMALL_CHARACTERS: Final = 1024
_SMALL_EXEMPTIONS: Final = 20


def is_small(spec: PolicySpec) -> bool:
    """Whether the policy compiles within some 20 ms."""
    return rule_characters(spec) <= _SMALL_CHARACTERS and len(spec.exemptions) <= _SMALL_EXEMPTIONS


async def compile_off_loop(spec: PolicySpec, *, name: str = "") -> Evaluator | Fault:
    """In a thread, unless the policy is small."""
    if is_small(spec):
        return compile_policy(spec, name=name)
    return await asyncio.to_thread(compile_policy, spec, name=name)
