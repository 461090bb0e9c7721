"""An admission policy, validating or mutating, and its bindings, compiled and ready to be evaluated. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from homeostat.cel import DYN, STRING, Environment, Type
from homeostat.objects.json import Json, JsonObject, decode_stored, encode
from homeostat.server.admission.construction import OBJECT, OPERATIONS
from homeostat.server.admission.expressions import Conditions, Expression, compile_expression, policy_environment
from homeostat.server.admission.match import Match, resource_match
from homeostat.server.admission.policies.params import ParamRef, param_ref


@dataclass(frozen=True, slots=True)
class Validation:
    condition: Expression
    message: str
    message_expression: Expression | None
    reason: str


@dataclass(frozen=True, slots=True)
class Mutation:
    expression: Expression
    is_json_patch: bool


@dataclass(frozen=True, slots=True)
class AuditAnnotation:
    key: str
    value: Expression


@dataclass(frozen=True, slots=True)
class Expressions:
    """All expressions of a policy; `uses` are the names that they use."""

    conditions: Conditions
    variables: dict[str, Expression]
    validations: tuple[Validation, ...]
    mutations: tuple[Mutation, ...]
    annotations: tuple[AuditAnnotation, ...]
    uses: frozenset[str]


class Policy:
    """Its expressions are compiled when they are first used. That takes up to 0.2 s, so it is done in a thread."""

    __slots__ = ("_expressions", "_spec", "fails", "is_reinvoked", "match", "name", "param_kind")

    def __init__(self, name: str, spec: JsonObject) -> None:
        param_kind = spec.get("paramKind")
        self.name = name
        self.match: Match = resource_match(spec.get("matchConstraints") or {})
        self.fails = spec.get("failurePolicy") != "Ignore"
        """An evaluation error denies the write."""
        self.param_kind = None if param_kind is None else (param_kind.get("apiVersion", ""), param_kind.get("kind", ""))
        self.is_reinvoked = spec.get("reinvocationPolicy") == "IfNeeded"
        self._spec = spec
        self._expressions: Expressions | None = None

    @property
    def is_compiled(self) -> bool:
        return self._expressions is not None

    @property
    def expressions(self) -> Expressions:
        if self._expressions is None:
            self._expressions = _compiled(self._spec, fails=self.fails)
        return self._expressions


@dataclass(frozen=True, slots=True, eq=False)
class Binding:
    name: str
    policy: str
    match: Match
    params: ParamRef | None
    actions: tuple[str, ...]


def policy_of(obj: JsonObject) -> Policy:
    """`obj` has passed validation. A write compiles its policy when it is checked, and then everybody finds it so."""
    return _made(obj["metadata"]["name"], encode(obj.get("spec") or {}))


@lru_cache(32)
def _made(name: str, encoded: bytes) -> Policy:
    return Policy(name, decode_stored(encoded))


def _compiled(spec: JsonObject, *, fails: bool) -> Expressions:
    types: dict[str, Type] = {}
    environment = policy_environment(types, has_params=spec.get("paramKind") is not None)
    conditions = Conditions(spec.get("matchConditions"), environment, fails=fails)
    conditions.compile()  # while no variable is declared: conditions cannot use them
    variables = _variables(spec.get("variables"), environment, types)
    messages = policy_environment(types, has_params=spec.get("paramKind") is not None, asks=False)
    validations = tuple(_validation(each, environment, messages) for each in spec.get("validations") or ())
    mutations: tuple[Mutation, ...] = ()
    if spec.get("mutations"):
        constructing = policy_environment(types, has_params=spec.get("paramKind") is not None, constructs=True)
        mutations = tuple(_mutation(each, constructing) for each in spec["mutations"])
    annotations = tuple(
        AuditAnnotation(each.get("key") or "", compile_expression(environment, each.get("valueExpression") or "", None))
        for each in spec.get("auditAnnotations") or ()
    )
    every = (
        *_expressions(variables, validations),
        *(each.expression for each in mutations),
        *(each.value for each in annotations),
    )
    uses = conditions.uses.union(*(each.uses for each in every))
    return Expressions(conditions, variables, validations, mutations, annotations, uses)


def _variables(values: Json, environment: Environment, types: dict[str, Type]) -> dict[str, Expression]:
    """Each variable may use those before it, so `types`, the environment's types, grows with each."""
    variables: dict[str, Expression] = {}
    for each in values or ():
        found = compile_expression(environment, each["expression"], None)
        variables[each["name"]] = found
        types[each["name"]] = DYN if found.program is None else found.program.type
    return variables


def _validation(value: JsonObject, environment: Environment, messages: Environment) -> Validation:
    message = value.get("messageExpression")
    return Validation(
        condition=compile_expression(environment, value["expression"]),
        message=(value.get("message") or "").strip(),
        message_expression=compile_expression(messages, message, STRING) if message else None,
        reason=value.get("reason") or "Invalid",
    )


def _mutation(value: JsonObject, environment: Environment) -> Mutation:
    is_json_patch = value.get("patchType") == "JSONPatch"
    holder = value.get("jsonPatch" if is_json_patch else "applyConfiguration") or {}
    wanted = OPERATIONS if is_json_patch else OBJECT
    expression = compile_expression(environment, holder.get("expression") or "", wanted, is_exact=True)
    return Mutation(expression, is_json_patch)


def _expressions(variables: dict[str, Expression], validations: Iterable[Validation]) -> Iterable[Expression]:
    yield from variables.values()
    for each in validations:
        yield each.condition
        if each.message_expression is not None:
            yield each.message_expression


def binding_of(obj: JsonObject) -> Binding:
    spec = obj.get("spec") or {}
    return Binding(
        name=obj["metadata"]["name"],
        policy=spec.get("policyName", ""),
        match=resource_match(spec.get("matchResources") or {}),
        params=param_ref(spec.get("paramRef")),
        actions=tuple(spec.get("validationActions") or ()),
    )
