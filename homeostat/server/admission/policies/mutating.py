"""Evaluates MutatingAdmissionPolicies on writes, before mutating webhooks.

Policies apply in the order of their names, each to the object that the ones before returned; those with the
reinvocation policy `IfNeeded` apply once more if anything changed the object. An ApplyConfiguration is merged as by
server-side apply, without an owner of the fields; it may not set atomic lists, maps and structs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from homeostat.cel import Budget
from homeostat.edge.threads import in_thread
from homeostat.edge.turn import Turn
from homeostat.objects.apply.merge import merge
from homeostat.objects.apply.shape import Shape, shape_of
from homeostat.objects.errors import ApiError, InternalError, NotFoundError
from homeostat.objects.json import Json, JsonObject
from homeostat.objects.patch.json import TestFailedError, json_patch
from homeostat.objects.schema.schema import Schema
from homeostat.objects.wire.builtin_schema import builtin_schema
from homeostat.server.admission.attempt import Attempt
from homeostat.server.admission.construction import (
    MOST_PARTS,
    ConstructionError,
    patch_object,
    patch_operations,
    size_of,
)
from homeostat.server.admission.denial import DeniedError
from homeostat.server.admission.expressions import (
    QUICK_COST,
    Bindings,
    ExpressionError,
    bindings_of,
    evaluated,
)
from homeostat.server.admission.match import Narrowed
from homeostat.server.admission.patched import conform
from homeostat.server.admission.policies.params import ParamError, Params
from homeostat.server.admission.policies.policy import Binding, Mutation, Policy
from homeostat.server.admission.policies.validating import COMPILER, BoundPolicy, Run
from homeostat.server.kinds.registry import Kind
from homeostat.server.request.offload import is_heavy, is_large


class MutationError(Exception):
    """A mutation cannot be applied; the message is that of Kubernetes."""


@dataclass(frozen=True, slots=True)
class _Outcome:
    obj: JsonObject
    was_invoked: bool = False
    error: Exception | None = None


class Mutations:
    """Applies mutating policies to attempts."""

    def __init__(self) -> None:
        self._params = Params()

    async def mutate(self, attempt: Attempt, policies: Sequence[BoundPolicy]) -> tuple[Attempt, set[str]]:
        """The attempt after the policies, and the names of those that applied."""
        invoked: set[str] = set()
        if attempt.obj is None:
            return attempt, invoked  # a deletion has nothing to change
        # Merging and defaulting a large object takes long, however cheap the expressions are.
        quick = Budget(0 if is_large(attempt.call) or is_heavy(attempt.obj) else QUICK_COST)
        turn = Turn()
        for bound in policies:
            kind = bound.narrowed.kind_for(attempt)
            await turn.pause()
            for binding, narrowed in bound.bindings if kind is not None else ():
                assert kind is not None
                changed = await self._apply(attempt, bound.policy, kind, binding, narrowed, quick=quick)
                await turn.pause()
                if changed is not None:
                    invoked.add(bound.policy.name)
                    attempt = changed
        return attempt, invoked

    async def _apply(
        self, attempt: Attempt, policy: Policy, kind: Kind, binding: Binding, narrowed: Narrowed, *, quick: Budget
    ) -> Attempt | None:
        """The attempt after one binding; None if it does not match."""
        try:
            if narrowed.kind_for(attempt) is None:
                return None
            if not policy.is_compiled:
                await in_thread(lambda: policy.expressions, user=COMPILER)
            params = await self._params.find(attempt, policy.param_kind, binding.params)
        except (ParamError, NotFoundError) as error:
            if policy.fails:
                raise _refusal(policy, binding, f"failed to configure binding: {error}", "Forbidden") from error
            return None
        was_invoked = False
        for each in params:
            await attempt.convert(kind)
            bindings = bindings_of(attempt, kind, policy.expressions.uses, each)
            work = partial(_mutated, attempt, policy, kind, bindings)
            outcome = await evaluated(work, quick, user=attempt.call.user.name)
            if outcome.error is not None:
                if isinstance(outcome.error, InternalError):
                    raise outcome.error
                raise _refusal(policy, binding, str(outcome.error)) from outcome.error
            was_invoked = was_invoked or outcome.was_invoked
            if outcome.obj is not bindings["object"]:
                attempt = await attempt.with_object(outcome.obj, kind)
        return attempt if was_invoked else None


def _mutated(attempt: Attempt, policy: Policy, kind: Kind, bindings: Bindings, quick: Budget | None) -> _Outcome:
    """The object after all mutations of a policy. With the failure policy Ignore, a failing one is left out."""
    run = Run(policy, bindings, quick)
    obj: JsonObject = bindings["object"]
    try:
        if not run.is_matched():
            return _Outcome(obj)
    except ExpressionError as error:
        return _Outcome(obj, error=error)
    for mutation in policy.expressions.mutations:
        try:
            obj = _changed(attempt, kind, obj, mutation, run)
        except InternalError as error:
            return _Outcome(obj, error=error)
        except (ExpressionError, ConstructionError, MutationError) as error:
            if policy.fails:
                return _Outcome(obj, error=error)
        run.bindings["object"] = obj
    return _Outcome(obj, was_invoked=True)


def _changed(attempt: Attempt, kind: Kind, obj: JsonObject, mutation: Mutation, run: Run) -> JsonObject:
    value = run.value(mutation.expression)
    if run.quick is not None:
        run.quick.remaining -= size_of(value, run.quick.remaining)
        if run.quick.remaining <= 0:
            raise ExpressionError("the mutation is too large for the event loop")  # it is computed again in a thread
    elif size_of(value, MOST_PARTS) >= MOST_PARTS:
        raise ConstructionError(f"the mutation is too large: it has more than {MOST_PARTS} values")
    if mutation.is_json_patch:
        after = _patched(obj, patch_operations(value))
    else:
        after = _merged(attempt, kind, obj, patch_object(value))
    if after is obj or after == obj:
        return obj
    try:
        conform(after, kind, attempt.call.subresource)
    except ApiError as error:
        why = f"a mutation of policy '{run.name}' cannot be applied: {error.message}"
        raise InternalError(f"Internal error occurred: {why}") from error
    return after


def _patched(obj: JsonObject, operations: list[JsonObject]) -> JsonObject:
    try:
        after = json_patch(obj, operations)
    except TestFailedError:
        return obj
    except ApiError as error:
        raise MutationError(f"JSON Patch: {error.message}") from error
    if not isinstance(after, dict):
        raise MutationError("JSON Patch: the result of the patch is not an object")
    return after


def _merged(attempt: Attempt, kind: Kind, obj: JsonObject, patch: JsonObject) -> JsonObject:
    patch = {**patch, "apiVersion": obj["apiVersion"], "kind": obj["kind"]}
    schema: Schema = kind.behaviour.schema
    if attempt.call.subresource == "scale":
        schema = builtin_schema("autoscaling", "v1", "Scale")
    else:
        _require_typed(kind, patch)
    shape = shape_of(schema)
    if atomics := _atomic_paths(patch, shape):
        raise MutationError(
            "error applying patch: invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
            f"{', '.join(atomics)}"
        )
    return merge(obj, patch, shape)


def _atomic_paths(value: Json, shape: Shape | None, path: str = "") -> list[str]:
    """The atomic lists, maps and structs that a value would replace as a whole."""
    if not isinstance(value, (dict, list)):
        return []
    if shape is None:
        return [path]
    found: list[str] = []
    if isinstance(value, list):
        for index, each in enumerate(value):
            found += _atomic_paths(each, shape.item, f"{path}[{index}]")
    elif shape.kind == "struct":
        for name, each in value.items():
            element, inner, is_named, _ = shape.member(name)
            if is_named:
                found += _atomic_paths(each, inner, f"{path}.{element.removeprefix('f:')}")
    return found


def _require_typed(kind: Kind, patch: JsonObject) -> None:
    prefix = "error applying patch: failed to convert patch object to typed object"
    if unknown := kind.behaviour.unknown_fields(patch):
        raise MutationError(f"{prefix}: .{unknown[0]}: field not declared in schema")
    errors = kind.behaviour.type_errors(patch)
    if errors:
        raise MutationError(f"{prefix}: .{errors[0].field}: {errors[0].message}")


def _refusal(policy: Policy, binding: Binding, why: str, reason: str = "Invalid") -> DeniedError:
    return DeniedError(403, reason, f"policy '{policy.name}' with binding '{binding.name}' denied request: {why}")
