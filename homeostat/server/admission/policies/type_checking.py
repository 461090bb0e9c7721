"""Checks the expressions of a ValidatingAdmissionPolicy against the schemas of the kinds that it matches.

Expressions are compiled for objects of any type, so a misspelt field shows only when a write fails. The warnings of
this check go to `status.typeChecking`, with the write of the policy; on a cluster kube-controller-manager adds them
later. They never change what the policy does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from homeostat.cel import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    CompileError,
    Environment,
    ListType,
    MapType,
    ObjectType,
    Type,
)
from homeostat.objects.json import JsonObject
from homeostat.objects.schema.schema import Schema
from homeostat.objects.wire.builtin_schema import builtin_schema
from homeostat.server.admission.expressions import typed_environment
from homeostat.server.kinds.builtins.members import strings, struct, structs, text
from homeostat.server.kinds.registry import Kind, Registry

_MOST_KINDS = 10
"""Of one policy."""
_MOST_CHECKS = 256
"""Compilations for one policy, of variables too; each KiB of an expression counts as one more."""
_SCALARS = {"integer": INT, "number": DOUBLE, "boolean": BOOL}
_FORMATS = {"byte": BYTES, "duration": DURATION, "date": TIMESTAMP, "date-time": TIMESTAMP}


def checked_status(obj: JsonObject, registry: Registry) -> JsonObject:
    """The status of a valid policy after a write of its spec."""
    spec, status = struct(obj, "spec"), struct(obj, "status")
    kept = {name: value for name, value in status.items() if name not in ("observedGeneration", "typeChecking")}
    warnings = list(_warnings(spec, registry))
    generation = obj["metadata"].get("generation", 1)
    checking = {"expressionWarnings": warnings} if warnings else {}
    return {"observedGeneration": generation, "typeChecking": checking, **kept}


def _warnings(spec: JsonObject, registry: Registry) -> Iterator[JsonObject]:
    expressions = {
        f"spec.validations[{index}].{member}": expression
        for index, validation in enumerate(structs(spec, "validations"))
        for member in ("expression", "messageExpression")
        if (expression := text(validation, member))
    }
    faults: dict[str, list[str]] = {field: [] for field in expressions}
    left = _MOST_CHECKS
    variables_cost = sum(_cost(text(each, "expression")) for each in structs(spec, "variables"))
    for kind in _kinds(spec, registry) if expressions else ():
        if variables_cost >= left:
            break
        left -= variables_cost
        environment = _environment(spec, kind, registry)
        for field, expression in expressions.items():
            if (cost := _cost(expression)) <= left:
                left -= cost
                faults[field].append(_fault(kind, environment, expression))
    for field, found in faults.items():
        if warning := "\n".join(each for each in found if each):
            yield {"fieldRef": field, "warning": warning}


def _cost(expression: str) -> int:
    return 1 + len(expression) // 1024


def _fault(kind: Kind, environment: Environment, expression: str) -> str:
    try:
        environment.compile(expression)
    except CompileError as error:
        return f"{kind.group}/{kind.version}, Kind={kind.kind}: {error}\n"
    return ""


def _kinds(spec: JsonObject, registry: Registry) -> list[Kind]:
    """The kinds that the rules name. A rule with a wildcard for groups or versions names none."""
    found: dict[tuple[str, str, str], Kind] = {}
    for rule in structs(struct(spec, "matchConstraints"), "resourceRules"):
        groups, versions = strings(rule, "apiGroups"), strings(rule, "apiVersions")
        if any("*" in each for each in (*groups, *versions)):
            continue
        plurals = [each for each in strings(rule, "resources") if not set("*/") & set(each)]
        named = [
            kind
            for group in sorted(groups)
            for version in sorted(versions)
            for plural in sorted(plurals)
            if (kind := registry.find(group, version, plural)) is not None
        ]
        for kind in named:
            if len(found) < _MOST_KINDS:
                found[kind.group, kind.version, kind.kind] = kind
    return [kind for _, kind in sorted(found.items())]


def _environment(spec: JsonObject, kind: Kind, registry: Registry) -> Environment:
    params: Type | None = None
    if isinstance(param_kind := spec.get("paramKind"), dict):
        known = registry.by_kind(text(param_kind, "apiVersion"), text(param_kind, "kind"))
        params = DYN if known is None else _root_type(known)
    variables: dict[str, Type] = {}
    namespace = _type(builtin_schema("", "v1", "Namespace"))
    environment = typed_environment(variables, object_type=_root_type(kind), namespace_type=namespace, params=params)
    for variable in structs(spec, "variables"):
        try:
            variables[text(variable, "name")] = environment.compile(text(variable, "expression")).type
        except CompileError:
            variables[text(variable, "name")] = DYN
    return environment


class _Members(Mapping[str, Type]):
    """The types of an object's members, each made when it is first read: some schemas contain themselves."""

    def __init__(self, schemas: Mapping[str, Schema], known: Mapping[str, Type]) -> None:
        self._schemas = schemas
        self._made: dict[str, Type] = dict(known)
        self._names = dict.fromkeys((*schemas, *known))

    def __getitem__(self, name: str) -> Type:
        if name not in self._made:
            self._made[name] = _type(self._schemas[name])
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def _root_type(kind: Kind) -> Type:
    """The type of a whole object, with all metadata, which the schema of a custom kind leaves out."""
    schema: Schema = kind.behaviour.schema
    if schema.type not in ("", "object"):
        return DYN
    metadata = builtin_schema("", "v1", "ConfigMap").properties["metadata"]
    known = {"apiVersion": STRING, "kind": STRING, "metadata": _type(metadata)}
    return ObjectType(kind.kind, fields=_Members(schema.properties, known))


def _type(schema: Schema) -> Type:
    if schema.int_or_string:
        return DYN
    match schema.type:
        case "string":
            return _FORMATS.get(schema.format, STRING)
        case "array":
            return ListType(DYN if schema.items is None else _type(schema.items))
        case "object" if schema.additional is not None:
            return MapType(STRING, _type(schema.additional))
        case "object" if schema.properties:
            return ObjectType(schema.name or "object", fields=_Members(schema.properties, {}))
    return _SCALARS.get(schema.type, DYN)
