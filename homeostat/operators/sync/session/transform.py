"""Runs the steps of a transform on values: pure steps here, jq programs in the worker, all values at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.metadata.rules import Validate
from homeostat.operators.sync.engine.metadata.step import Jq, Step, apply_step, referenced
from homeostat.operators.sync.engine.payload import pointer
from homeostat.operators.sync.engine.templates.scope import Scope, render
from homeostat.operators.sync.jq.programs import JqPrograms

ReadResource = Callable[[str], Awaitable[Json]]


async def transformed(
    jq: JqPrograms, steps: Sequence[Step], values: Sequence[Json], read: ReadResource, scope: Scope | None = None
) -> list[Json]:
    found = list(values)
    for step in steps:
        if isinstance(step, Jq):
            program = render(step.program, scope) if scope is not None and "{{" in step.program else step.program
            resources = {path: await read(path) for path in referenced(program)}
            found = [_joined(each) for each in await jq.run(program, found, resources)]
        else:
            found = [_applied(step, each) for each in found]
    return found


def _applied(step: Step, value: Json) -> Json:
    assert not isinstance(step, Jq)
    # On the answer to a list, attributes are those of its items.
    return [apply_step(step, each) for each in value] if isinstance(value, list) else apply_step(step, value)


def _joined(outputs: list[Json]) -> Json:
    """No output is null, one is itself, and several are a list."""
    if not outputs:
        return None
    return outputs[0] if len(outputs) == 1 else outputs


async def check_assertions(jq: JqPrograms, validate: Validate, value: Json) -> None:
    for each in validate.required:
        if pointer.get(value, each) in (pointer.MISSING, None, ""):
            raise ValidationError(f"attribute {each} is required and missing")
    for message, program in validate.assertions:
        (outputs,) = await jq.run(program, [value])
        if not any(each is not None and each is not False for each in outputs):
            raise ValidationError(message or f"assertion {program} does not hold")
