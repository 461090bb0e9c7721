"""`homeostat explain`: the fields of a kind, from the OpenAPI documents of the server."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Final, NamedTuple

import click

from homeostat.cli.completion.words import complete_kinds
from homeostat.cli.console.connection import Connection, connected
from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.kinds import Kind, Kinds, discover
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject

_PREFIX: Final = "#/components/schemas/"
_MOST_LINES: Final = 20_000
_MOST_STEPS: Final = 8
_WIDTH: Final = 80
_LISTS: Final = ("allOf", "anyOf", "oneOf")


class Field(NamedTuple):
    """A schema with its references followed; `name` is that of its type, empty for one without."""

    schema: JsonObject
    name: str = ""


@click.command(short_help="Describe the fields of a kind.")
@click.argument("path", metavar="KIND[.FIELD]...", shell_complete=complete_kinds)
@click.option("--recursive", "is_recursive", is_flag=True, help="Print the names of all fields below, without texts.")
@click.option("--api-version", default="", metavar="GROUP/VERSION", help="Another version than the preferred one.")
@connected
async def command(connection: Connection, path: str, is_recursive: bool, api_version: str) -> None:
    """Describe the fields of a kind, or those of one of its fields.

    \b
    Examples:
      homeostat explain deployments
      homeostat explain deploy.spec.template.spec.containers
      homeostat explain crontabs --api-version example.com/v1beta1 --recursive
    """
    kind, names = _resolve(await discover(connection.client), path, api_version)
    where = f"/openapi/v3/apis/{kind.api_version}" if kind.group else f"/openapi/v3/api/{kind.version}"
    try:
        document = await connection.client.get(where)
    except NotFoundError as error:
        raise Failure(f"the server has no OpenAPI document of {kind.api_version}, so its fields are unknown") from error
    schemas = Schemas(document.get("components", {}).get("schemas", {}))
    field, title = schemas.kind(kind), kind.kind
    for name in names:
        field, title = schemas.below(field, name, title), f"{title}.{name}"
    for line in explained(schemas, kind, names, field, is_recursive=is_recursive):
        click.echo(line)


def _resolve(kinds: Kinds, path: str, api_version: str) -> tuple[Kind, list[str]]:
    """The kind and the names of fields. A group may follow the kind (`deployments.apps.spec`): the longest wins."""
    parts = [part for part in path.split(".") if part]
    if not parts:
        raise click.UsageError("name a KIND, and fields after it: deployments.spec.replicas")
    for count in range(len(parts), 0, -1):
        try:
            (kind,) = kinds.resolve(".".join(parts[:count]))
        except (Failure, ValueError):
            continue
        return _versioned(kinds, kind, api_version), parts[count:]
    return kinds.resolve(parts[0])[0], parts[1:]


def _versioned(kinds: Kinds, kind: Kind, api_version: str) -> Kind:
    if not api_version:
        return kind
    found = kinds.find(api_version, kind.kind)
    if found is None:
        known = sorted(each.api_version for each in kinds if (each.group, each.kind) == (kind.group, kind.kind))
        raise Failure(f"{kind.kind} has no version {api_version}; it has: {', '.join(known)}")
    return found


class Schemas:
    """The schemas of one OpenAPI document."""

    def __init__(self, schemas: Mapping[str, JsonObject]) -> None:
        self._schemas = schemas

    def kind(self, kind: Kind) -> Field:
        wanted = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        for schema in self._schemas.values():
            if wanted in schema.get("x-kubernetes-group-version-kind", ()):
                return Field(schema, kind.kind)
        raise Failure(f"the OpenAPI document of {kind.api_version} has no {kind.kind}, so its fields are unknown")

    def below(self, field: Field, name: str, title: str) -> Field:
        properties = self.properties(field)
        if name not in properties:
            near = get_close_matches(name, properties, n=1)
            hint = f'did you mean "{near[0]}"?' if near else f"it has: {', '.join(properties) or 'no fields'}"
            raise Failure(f'{title} has no field "{name}"; {hint}')
        return self.resolved(properties[name])

    def properties(self, field: Field) -> Mapping[str, JsonObject]:
        """The fields of an object, or of the objects that a list or a map has, by name."""
        found: Mapping[str, JsonObject] = self.element(field).schema.get("properties") or {}
        return dict(sorted(found.items()))

    def required(self, field: Field) -> frozenset[str]:
        return frozenset(self.element(field).schema.get("required") or ())

    def element(self, field: Field) -> Field:
        """What a list or a map has; the field itself if it is neither."""
        for _ in range(_MOST_STEPS):
            inner = field.schema.get("items") or field.schema.get("additionalProperties")
            if "properties" in field.schema or not isinstance(inner, dict):
                break
            field = self.resolved(inner)
        return field

    def resolved(self, schema: JsonObject) -> Field:
        """What a schema refers to, with the texts that stand beside the reference."""
        name, own = "", schema
        for _ in range(_MOST_STEPS):
            reference = schema.get("$ref") or next(
                (each["$ref"] for word in _LISTS for each in schema.get(word) or () if "$ref" in each), None
            )
            if reference is None:
                break
            key = str(reference).removeprefix(_PREFIX)
            name, schema = key.rpartition(".")[2], self._schemas.get(key, {})
        if own is not schema and "description" in own:
            schema = {**schema, "description": own["description"]}
        return Field(schema, name)

    def type_of(self, field: Field) -> str:
        """As kubectl writes it: `string`, `[]Container`, `map[string]string`, `Object`."""
        schema = field.schema
        if schema.get("type") == "array":
            return f"[]{self.type_of(self.resolved(schema.get('items') or {}))}"
        if isinstance(values := schema.get("additionalProperties"), dict):
            return f"map[string]{self.type_of(self.resolved(values))}"
        if field.name and (schema.get("properties") or schema.get("type") == "object"):
            return field.name
        if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
            return "IntOrString"
        found = schema.get("type") or field.name or "Object"
        return "Object" if found == "object" else str(found)


def explained(schemas: Schemas, kind: Kind, names: list[str], field: Field, *, is_recursive: bool) -> Iterator[str]:
    if kind.group:
        yield f"GROUP:      {kind.group}"
    yield f"KIND:       {kind.kind}"
    yield f"VERSION:    {kind.version}"
    yield ""
    if names:
        yield f"FIELD: {names[-1]} <{schemas.type_of(field)}>"
        yield ""
    yield "DESCRIPTION:"
    yield from _wrapped(_description(field), 4)
    properties = schemas.properties(field)
    if properties:
        yield ""
        yield "FIELDS:"
        lines = _names(schemas, field, 2, ()) if is_recursive else _fields(schemas, field)
        for number, line in enumerate(lines):
            if number == _MOST_LINES:
                yield "  ..."
                return
            yield line
    elif values := field.schema.get("enum"):
        yield ""
        yield f"ENUM: {', '.join(map(str, values))}"


def _description(field: Field) -> str:
    return str(field.schema.get("description") or "<no description>")


def _fields(schemas: Schemas, field: Field) -> Iterator[str]:
    required = schemas.required(field)
    for name, schema in schemas.properties(field).items():
        inner = schemas.resolved(schema)
        yield f"  {name}\t<{schemas.type_of(inner)}>{' -required-' if name in required else ''}"
        if values := inner.schema.get("enum"):
            yield f"    enum: {', '.join(map(str, values))}"
        if "default" in inner.schema and inner.schema["default"] not in ({}, None):
            yield f"    default: {inner.schema['default']}"
        if "description" in inner.schema:
            yield from _wrapped(str(inner.schema["description"]), 4)
            yield ""


def _names(schemas: Schemas, field: Field, indent: int, above: tuple[str, ...]) -> Iterator[str]:
    """All fields below, but those of a type within itself once."""
    required = schemas.required(field)
    for name, schema in schemas.properties(field).items():
        inner = schemas.resolved(schema)
        yield f"{' ' * indent}{name}\t<{schemas.type_of(inner)}>{' -required-' if name in required else ''}"
        within = schemas.element(inner).name
        if within not in above:
            yield from _names(schemas, inner, indent + 2, (*above, within) if within else above)


def _wrapped(text: str, indent: int) -> list[str]:
    margin = " " * indent
    return textwrap.wrap(" ".join(text.split()), _WIDTH, initial_indent=margin, subsequent_indent=margin)
