"""Translates JSON Schema, as users write it for the spec of resources, to the structural schema of a definition. Pure.

Keywords that have an equivalent are translated: `const`, numeric exclusive limits, a type with `null`, `$ref` inside
the schema, `uniqueItems` of plain values. A keyword without an equivalent is an error that names its path; only
keywords that describe are dropped silently. As in JSON Schema, an object accepts unknown members unless it has
`additionalProperties: false`.
"""

from __future__ import annotations

from typing import Final

from homeostat.objects.errors import Cause, forbidden, invalid
from homeostat.objects.json import Json, JsonObject, excess

PATH: Final = "spec.schema"
_PRESERVE: Final = "x-kubernetes-preserve-unknown-fields"
_DESCRIBING: Final = frozenset({"$schema", "$id", "$comment", "examples", "readOnly", "writeOnly", "deprecated"}) | {
    "definitions",
    "$defs",
}
_REFUSED: Final = {
    "if": "use rules in x-kubernetes-validations for conditions between fields",
    "then": "use rules in x-kubernetes-validations for conditions between fields",
    "else": "use rules in x-kubernetes-validations for conditions between fields",
    "patternProperties": "use additionalProperties, and a rule for the names",
    "propertyNames": "use a rule in x-kubernetes-validations for the names",
    "dependencies": "use a rule in x-kubernetes-validations",
    "contains": "use a rule in x-kubernetes-validations",
    "additionalItems": "all items of a list must have one schema",
}
_NESTED: Final = ("allOf", "anyOf", "oneOf")
_LIMITS: Final = (
    frozenset({"type", "format", "title", "description", "default", "enum"})
    | {"pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}
    | {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
    | {"required", "nullable", "example", "externalDocs"}
)
_MOST_REFERENCES: Final = 1000


def spec_schema(raw: JsonObject) -> tuple[JsonObject, list[Cause]]:
    """Returns the structural schema of `spec`, and the problems of the given one."""
    if problem := excess(raw):
        return {}, [Cause("FieldValueInvalid", f"Invalid value: the schema {problem}", PATH)]
    reader = _Reader(raw)
    schema = reader.node(raw, PATH, ())
    if schema.get("type", "object") != "object":
        reader.causes.append(invalid(f"{PATH}.type", raw.get("type"), "a spec must be an object"))
    schema["type"] = "object"
    if not schema.get("properties") and "additionalProperties" not in schema:
        schema.setdefault(_PRESERVE, True)
    return schema, reader.causes


class _Reader:
    def __init__(self, root: JsonObject) -> None:
        self._root = root
        self._references = 0
        self.causes: list[Cause] = []

    def node(self, raw: Json, path: str, seen: tuple[str, ...], *, is_nested: bool = False) -> JsonObject:
        """`is_nested`: inside allOf, anyOf, oneOf or not, which restrict values and add no structure."""
        if raw is True:
            return {_PRESERVE: True}
        if not isinstance(raw, dict):
            self.causes.append(invalid(path, raw, "a schema must be an object"))
            return {}
        if "$ref" in raw:
            return self._referred(raw, path, seen, is_nested)
        schema: JsonObject = {}
        for word, value in raw.items():
            self._translate(schema, word, value, path, seen)
        if not is_nested:
            self._complete(schema, raw)
        return schema

    def _translate(self, schema: JsonObject, word: str, value: Json, path: str, seen: tuple[str, ...]) -> None:
        where = f"{path}.{word}"
        if word in _DESCRIBING:
            return
        if word in _REFUSED or (word == "items" and not isinstance(value, dict | bool)):
            message = _REFUSED.get(word, "all items of a list must have one schema")
            self.causes.append(forbidden(where, f"not supported here; {message}"))
        elif word == "properties" and isinstance(value, dict):
            schema[word] = {name: self.node(each, f"{where}.{name}", seen) for name, each in value.items()}
        elif word == "items":
            schema[word] = self.node(value, where, seen)
        elif word in _NESTED and isinstance(value, list):
            schema[word] = [self.node(each, f"{where}[{at}]", seen, is_nested=True) for at, each in enumerate(value)]
        elif word == "not":
            schema[word] = self.node(value, where, seen, is_nested=True)
        elif word == "additionalProperties":
            self._members(schema, value, where, seen)
        else:
            self._limit(schema, word, value, where)

    def _limit(self, schema: JsonObject, word: str, value: Json, where: str) -> None:
        """Translates a keyword that contains no schemas."""
        match word:
            case "const":
                schema["enum"] = [value]
            case "exclusiveMinimum" | "exclusiveMaximum" if not isinstance(value, bool):
                schema |= {"minimum" if word == "exclusiveMinimum" else "maximum": value, word: True}
            case "type" if isinstance(value, list):
                self._one_type(schema, value, where)
            case "uniqueItems":
                schema |= {"x-kubernetes-list-type": "set"} if value else {}
            case _ if word in _LIMITS or word.startswith("x-kubernetes-"):
                schema |= {word: value} if value is not None else {}
            case _ if not word.startswith("x-"):
                self.causes.append(forbidden(where, "unknown keyword"))

    def _members(self, schema: JsonObject, value: Json, where: str, seen: tuple[str, ...]) -> None:
        if value is True:
            schema[_PRESERVE] = True
        elif isinstance(value, dict):
            schema["additionalProperties"] = self.node(value, where, seen)
        elif value is not False:
            self.causes.append(invalid(where, value, "must be true, false or a schema"))

    def _one_type(self, schema: JsonObject, types: list[Json], where: str) -> None:
        others = [each for each in types if each != "null"]
        if "null" in types:
            schema["nullable"] = True
        if sorted(map(str, others)) == ["integer", "string"]:
            schema["x-kubernetes-int-or-string"] = True
        elif len(others) == 1:
            schema["type"] = others[0]
        else:
            self.causes.append(invalid(where, types, "must be one type, one type and null, or integer and string"))

    def _complete(self, schema: JsonObject, raw: JsonObject) -> None:
        """Adds what a structural schema requires and JSON Schema leaves open."""
        kind = schema.get("type")
        if kind is None and "x-kubernetes-int-or-string" not in schema:
            if "properties" in schema or "additionalProperties" in schema:
                schema["type"] = kind = "object"
            elif "items" in schema:
                schema["type"] = kind = "array"
            elif guessed := _type_of_values(schema.get("enum")):
                schema["type"] = kind = guessed
            else:
                schema[_PRESERVE] = True
        if kind == "array":
            schema.setdefault("items", {_PRESERVE: True})
        if kind == "object" and "additionalProperties" not in raw:
            schema.setdefault(_PRESERVE, True)

    def _referred(self, raw: JsonObject, path: str, seen: tuple[str, ...], is_nested: bool) -> JsonObject:
        name = raw["$ref"]
        found = self._find(name) if isinstance(name, str) else None
        self._references += 1
        if found is None:
            self.causes.append(
                invalid(f"{path}.$ref", name, "the reference does not resolve in this schema; use #/definitions/name")
            )
        elif name in seen:
            self.causes.append(invalid(f"{path}.$ref", name, "recursive references are not supported"))
        elif self._references > _MOST_REFERENCES:
            self.causes.append(forbidden(f"{path}.$ref", f"more than {_MOST_REFERENCES} references"))
        else:
            beside = {word: value for word, value in raw.items() if word != "$ref"}
            return {**self.node(found, path, (*seen, name), is_nested=is_nested), **beside}
        return {}

    def _find(self, name: str) -> Json | None:
        found: Json = self._root
        if not name.startswith("#/"):
            return None
        for step in name[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(found, dict) or key not in found:
                return None
            found = found[key]
        return found


def _type_of_values(values: Json) -> str:
    if not isinstance(values, list) or not values:
        return ""
    if all(isinstance(each, str) for each in values):
        return "string"
    if all(isinstance(each, bool) for each in values):
        return "boolean"
    if all(isinstance(each, int) and not isinstance(each, bool) for each in values):
        return "integer"
    return ""
