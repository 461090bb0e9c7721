"""CEL expressions of admission: their variables, and the errors of failing ones.

`object`, `oldObject` and `params` are of any type, as in Kubernetes; `request` is the `AdmissionRequest` without the
objects; `variables` are those of the policy. An expression is compiled once. One that does not compile is kept with its
error and fails at each evaluation, so that `failurePolicy` applies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from homeostat.cel import (
    BOOL,
    DYN,
    STRING,
    Budget,
    CelError,
    CompileError,
    Environment,
    ListType,
    MapType,
    ObjectType,
    Program,
    Type,
)
from homeostat.cel.syntax.parser import parse
from homeostat.cel.syntax.tree import Ident, Node, Select, children
from homeostat.edge.threads import in_thread
from homeostat.objects.json import Json, JsonObject
from homeostat.server.admission.attempt import Attempt
from homeostat.server.admission.authorizer import (
    AUTHORIZATION,
    AUTHORIZER,
    RESOURCE_CHECK,
    authorizer_of,
    request_resource_of,
)
from homeostat.server.admission.construction import ESCAPE_KEY, constructed
from homeostat.server.kinds.registry import Kind

QUICK_COST = 20_000
"""The cost of expressions that may run on the event loop in one write: 2 to 4 ms, or 15 to compare lists of lists."""
CONDITIONS_BUDGET = 2_500_000
"""What all conditions of a webhook or policy may cost for one write; as in Kubernetes."""
T = TypeVar("T")

Bindings = dict[str, Any]


class ExpressionError(Exception):
    """An expression has no value for a write; the message is that of Kubernetes."""


class _Struct(ObjectType):
    """Its fields are not escaped: `request.namespace`, which for a type with a schema would be `__namespace__`."""

    __slots__ = ()

    def member(self, identifier: str) -> str | None:
        return identifier if identifier in self.fields else None


def _struct(type_name: str, /, **fields: Type) -> ObjectType:
    return _Struct(type_name, fields=fields)


_KIND = _struct("kubernetes.GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE = _struct("kubernetes.GroupVersionResource", group=STRING, version=STRING, resource=STRING)
_STRINGS = ListType(element=STRING)
_USER = _struct(
    "kubernetes.UserInfo", username=STRING, uid=STRING, groups=_STRINGS, extra=MapType(key=STRING, value=_STRINGS)
)
_REQUEST = _struct(
    "kubernetes.AdmissionRequest",
    kind=_KIND,
    resource=_RESOURCE,
    subResource=STRING,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=STRING,
    name=STRING,
    namespace=STRING,
    operation=STRING,
    userInfo=_USER,
    dryRun=BOOL,
    options=DYN,
)
_REQUEST_RESOURCE = "authorizer.requestResource"
_WEBHOOK = {
    "object": DYN,
    "oldObject": DYN,
    "request": _REQUEST,
    "authorizer": AUTHORIZER,
    _REQUEST_RESOURCE: RESOURCE_CHECK,
}


@lru_cache(maxsize=1)
def webhook_environment() -> Environment:
    """For the conditions of webhooks."""
    return Environment(_WEBHOOK, AUTHORIZATION)


def policy_environment(
    variables: Mapping[str, Type], *, has_params: bool, constructs: bool = False, asks: bool = True
) -> Environment:
    """For the expressions of a policy. `variables` are those declared so far.

    Mutations construct objects. All but messages may ask the authorizer.
    """
    known: dict[str, Type] = {**_WEBHOOK, "namespaceObject": DYN, "variables": _Struct("variables", fields=variables)}
    if has_params:
        known["params"] = DYN
    if constructs:
        return Environment(known, (*AUTHORIZATION, ESCAPE_KEY), structs=constructed)
    if not asks:
        del known["authorizer"], known[_REQUEST_RESOURCE]
    return Environment(known, AUTHORIZATION)


def typed_environment(
    variables: Mapping[str, Type], *, object_type: Type, namespace_type: Type, params: Type | None
) -> Environment:
    """For checking the expressions of a policy against objects of one kind."""
    known: dict[str, Type] = {
        **_WEBHOOK,
        "object": object_type,
        "oldObject": object_type,
        "namespaceObject": namespace_type,
        "variables": _Struct("variables", fields=variables),
    }
    if params is not None:
        known["params"] = params
    return Environment(known, AUTHORIZATION)


@dataclass(frozen=True, slots=True)
class Expression:
    """`fault` is the error if there is no program. `variables` are the policy's variables that it uses."""

    text: str
    program: Program | None
    fault: str = ""
    variables: frozenset[str] = frozenset()

    @property
    def uses(self) -> frozenset[str]:
        return self.program.uses if self.program is not None else frozenset()

    def evaluate(self, bindings: Bindings, budget: Budget) -> Any:
        if self.program is None:
            raise ExpressionError(self.fault)
        try:
            return self.program.evaluate(bindings, budget)
        except CelError as error:
            raise ExpressionError(f"expression '{self.text}' resulted in error: {error}") from error


def compile_expression(
    environment: Environment, text: str, wanted: Type | None = BOOL, *, is_exact: bool = False
) -> Expression:
    """`wanted` None means any type. Unless `is_exact`, a type that is known only at run time is accepted too."""
    try:
        program = environment.compile(text)
    except CompileError as error:
        return Expression(text, None, f"compilation failed: {error}")
    if wanted is not None and program.type != wanted and (is_exact or program.type != DYN):
        return Expression(text, None, f"must evaluate to {wanted} but got {program.type}")
    mentioned = frozenset(_mentioned(parse(text))) if "variables" in program.uses else frozenset()
    return Expression(text, program, variables=mentioned)


def _mentioned(node: Node) -> Iterable[str]:
    if isinstance(node, Select) and isinstance(node.operand, Ident) and node.operand.name == "variables":
        yield node.field
    for child in children(node):
        yield from _mentioned(child)


async def evaluated(work: Callable[[Budget | None], T], quick: Budget, *, user: str) -> T:
    """The result of work that evaluates expressions: on the event loop if `quick` is enough for it, else in a thread.

    It gets `quick`, or None in the thread, where its own limits apply. It may run twice and must have no effect.
    """
    if quick.remaining > 0:
        error: ExpressionError | None = None
        try:
            result = work(quick)
        except ExpressionError as failed:
            error = failed
        if quick.remaining > 0:
            if error is not None:
                raise error
            return result
    return await in_thread(lambda: work(None), user=user)


class Conditions:
    """The `matchConditions` of a webhook or policy: it applies only if all hold."""

    __slots__ = ("_environment", "_expressions", "_fails", "_texts")

    def __init__(self, values: Json, environment: Environment, *, fails: bool) -> None:
        self._texts: list[str] = [each["expression"] for each in values or ()]
        self._environment = environment
        self._expressions: list[Expression] | None = None
        self._fails = fails

    def __bool__(self) -> bool:
        return bool(self._texts)

    @property
    def is_compiled(self) -> bool:
        return self._expressions is not None or not self._texts

    @property
    def expressions(self) -> list[Expression]:
        return self.compile() if self._expressions is None else self._expressions

    def compile(self) -> list[Expression]:
        """Takes up to 10 ms for each KiB, so webhooks do it in a thread, when a write first matches them."""
        self._expressions = [compile_expression(self._environment, each) for each in self._texts]
        return self._expressions

    @property
    def uses(self) -> frozenset[str]:
        return frozenset[str]().union(*(each.uses for each in self.expressions))

    def hold(self, bindings: Bindings, budget: Budget | None = None) -> bool:
        """Whether all conditions hold: False if one is false; `ExpressionError` if none is false and one failed.

        With the failure policy Ignore, a failing condition counts as false.
        """
        budget = Budget(CONDITIONS_BUDGET) if budget is None else budget
        failed: list[str] = []
        for expression in self.expressions:
            try:
                if expression.evaluate(bindings, budget) is not True:
                    return False
            except ExpressionError as error:
                failed.append(str(error))
        if failed and self._fails:
            raise ExpressionError(failed[0] if len(failed) == 1 else f"[{', '.join(failed)}]")
        return not failed


def bindings_of(attempt: Attempt, kind: Kind, uses: frozenset[str], params: JsonObject | None = None) -> Bindings:
    """The values of the variables in expressions."""
    bindings: Bindings = {"object": attempt.object_as(kind), "oldObject": attempt.old_as(kind), "params": params}
    if "request" in uses:
        bindings["request"] = attempt.request(kind)
    if "authorizer" in uses:
        bindings["authorizer"] = authorizer_of(attempt)
    if _REQUEST_RESOURCE in uses:
        bindings[_REQUEST_RESOURCE] = request_resource_of(attempt)
    if "namespaceObject" in uses:
        bindings["namespaceObject"] = attempt.namespace_object()
    return bindings
