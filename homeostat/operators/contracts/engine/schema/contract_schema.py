"""The JSON Schemas of contract versions 1.0, 1.1 and 1.2, and the structural layer of validation. Pure.

The versions differ in `owner` (a string is allowed up to 1.1) and in `readiness` (none in 1.0, an expiry date per check
in 1.1, one expiry date in 1.2). Conditions between fields of one object are part of the schema.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.contracts.engine.document.contract import V1_0, V1_1, V1_2, VERSIONS
from homeostat.operators.contracts.engine.finding import Findings
from homeostat.operators.contracts.engine.schema.json_schema import JsonSchema

_TEXT: Final[JsonObject] = {"type": "string"}
_FILLED: Final[JsonObject] = {"type": "string", "minLength": 1}
_BOOLEAN: Final[JsonObject] = {"type": "boolean"}
_COUNT: Final[JsonObject] = {"type": "integer", "minimum": 0}
_PERCENT: Final[JsonObject] = {"type": "integer", "minimum": 0, "maximum": 100}
_FREE: Final[JsonObject] = {"type": "object"}


def check_structure(document: JsonObject) -> Findings:
    """Report UNSUPPORTED_PACTO_VERSION, or one SCHEMA_VIOLATION per leaf error."""
    findings = Findings()
    version = document.get("pactoVersion")
    if not isinstance(version, str) or version not in VERSIONS:
        shown = f'"{version}"' if isinstance(version, str) else f"{version} (write it in quotes)"
        problem = f"unsupported pactoVersion {shown}; supported versions: {', '.join(VERSIONS)}"
        findings.error("UNSUPPORTED_PACTO_VERSION", "pactoVersion", problem)
        return findings
    for each in _compiled(version).violations(document):
        findings.error("SCHEMA_VIOLATION", each.path, each.message)
    return findings


@cache
def contract_schema(version: str) -> JsonObject:
    """Return the schema of one version, as JSON Schema 2020-12."""
    properties: JsonObject = {
        "pactoVersion": {"const": version},
        "service": _service(has_text_owner=version != V1_2),
        "interfaces": _list(_interface()),
        "configurations": _list(_source("schema", ref_excludes=("schema", "values"), values=_FREE)),
        "policies": _list(_source("schema", ref_excludes=("schema",)), at_least=1),
        "dependencies": _list(
            _object(
                ("name", "ref", "compatibility"), name=_FILLED, ref=_FILLED, required=_BOOLEAN, compatibility=_FILLED
            )
        ),
        "runtime": _runtime(),
        "scaling": _scaling(),
        "metadata": _FREE,
    }
    if version != V1_0:
        properties["readiness"] = _dated_checks() if version == V1_1 else _dated_assessment()
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Service contract {version}",
        **_object(("pactoVersion", "service"), **properties),
    }


@cache
def _compiled(version: str) -> JsonSchema:
    return JsonSchema(contract_schema(version), is_ours=True)


def _object(required: tuple[str, ...] = (), /, **properties: Json) -> JsonObject:
    return {
        "type": "object",
        "required": list(required),
        "additionalProperties": False,
        "properties": properties,
    }


def _list(items: JsonObject, *, at_least: int = 0) -> JsonObject:
    return {"type": "array", "items": items, **({"minItems": at_least} if at_least else {})}


def _words(*words: str) -> JsonObject:
    return {"type": "string", "enum": list(words)}


def _matching(pattern: str) -> JsonObject:
    return {"type": "string", "minLength": 1, "pattern": pattern}


def _service(*, has_text_owner: bool) -> JsonObject:
    contact = _object(
        ("type", "value"),
        type=_words("email", "url", "group", "oncall", "chat", "other"),
        value=_FILLED,
        purpose=_words("ownership", "support", "escalation", "oncall", "notifications"),
    )
    owner: JsonObject = _object(
        team=_matching("^[a-zA-Z0-9._/-]+$"), dri=_matching("^[a-zA-Z0-9._@/-]+$"), contacts=_list(contact, at_least=1)
    )
    owner["minProperties"] = 1
    if has_text_owner:
        # One schema for both, so that a violation below the object is reported where it is.
        owner |= {"type": ["object", "string"], "minLength": 1}
    return _object(
        ("name", "version"),
        name={"type": "string", "pattern": "^[a-z0-9]([a-z0-9-]*[a-z0-9])?$"},
        version=_FILLED,
        owner=owner,
        image=_object(("ref",), ref=_FILLED, private=_BOOLEAN),
        chart=_object(("ref", "version"), ref=_FILLED, version=_FILLED),
    )


def _interface() -> JsonObject:
    interface = _object(
        ("name", "type"),
        name=_FILLED,
        type=_words("http", "grpc", "event"),
        port={"type": "integer", "minimum": 1, "maximum": 65535},
        visibility=_words("public", "internal"),
        contract=_FILLED,
    )
    needs = {"http": ["port"], "grpc": ["port", "contract"], "event": ["contract"]}
    interface["allOf"] = [
        {"if": {"properties": {"type": {"const": each}}}, "then": {"required": fields}}
        for each, fields in needs.items()
    ]
    return interface


def _source(*schema: str, ref_excludes: tuple[str, ...], **further: JsonObject) -> JsonObject:
    """Return the schema of a name with either a file of the bundle or a reference."""
    source = _object(("name",), name=_FILLED, schema=_FILLED, ref=_FILLED, **further)
    source["oneOf"] = [
        {"required": list(schema), "not": {"required": ["ref"]}},
        {"required": ["ref"], "not": {"anyOf": [{"required": [each]} for each in ref_excludes]}},
    ]
    return source


def _runtime() -> JsonObject:
    state = _object(
        ("type", "persistence", "dataCriticality"),
        type=_words("stateless", "stateful", "hybrid"),
        persistence=_object(
            ("scope", "durability"), scope=_words("local", "shared"), durability=_words("ephemeral", "persistent")
        ),
        dataCriticality=_words("low", "medium", "high"),
    )
    forced = {"properties": {"persistence": {"properties": {"durability": {"const": "ephemeral"}}}}}
    state["allOf"] = [{"if": {"properties": {"type": {"const": "stateless"}}}, "then": forced}]
    return _object(
        ("workload", "state"),
        workload=_words("service", "job", "scheduled"),
        state=state,
        lifecycle=_object(upgradeStrategy=_words("rolling", "recreate", "ordered"), gracefulShutdownSeconds=_COUNT),
        health=_object(("interface",), interface=_TEXT, path=_TEXT, initialDelaySeconds=_COUNT),
        metrics=_object(("interface",), interface=_TEXT, path=_TEXT),
    )


def _scaling() -> JsonObject:
    scaling = _object(replicas=_COUNT, min=_COUNT, max=_COUNT)
    scaling["oneOf"] = [
        {"required": ["replicas"], "not": {"anyOf": [{"required": ["min"]}, {"required": ["max"]}]}},
        {"required": ["min", "max"], "not": {"required": ["replicas"]}},
    ]
    return scaling


def _check(required: tuple[str, ...], **further: JsonObject) -> JsonObject:
    return _object(
        ("id", "type", "evidence", "weight", *required),
        id=_matching("^[a-z0-9]([a-z0-9._-]*[a-z0-9])?$"),
        type=_words("url", "document", "ticket", "report", "artifact", "identifier", "other"),
        evidence={"type": "string", "minLength": 1, "maxLength": 2048},
        weight=_PERCENT,
        description=_FILLED,
        **further,
    )


def _dated_checks() -> JsonObject:
    return _object(("checks",), minScore=_PERCENT, checks=_list(_check(("expires",), expires=_TEXT), at_least=1))


def _dated_assessment() -> JsonObject:
    categories = (
        "architecture testing code-quality observability security documentation infrastructure ci-cd deployment "
        "resilience backup-recovery incident-response compliance other"
    )
    check = _check(
        ("status",), status=_words("done", "partial", "not-done", "deferred"), category=_words(*categories.split())
    )
    revision = _object(
        ("date", "version", "author", "description"), date=_TEXT, version=_FILLED, author=_FILLED, description=_FILLED
    )
    return _object(
        ("expires", "checks"),
        minScore=_PERCENT,
        expires=_TEXT,
        partialCredit={"type": "number", "minimum": 0, "maximum": 1},
        history=_list(revision),
        checks=_list(check, at_least=1),
    )
