"""An OpenAPI document: which paths it has, with which methods, bodies and schemas. Pure.

Swagger 2 is read as OpenAPI 3. References are followed inside of the document only, and a bounded number of times.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.paths import glob
from homeostat.operators.sync.engine.paths.logical import WILDCARD, segments
from homeostat.operators.sync.engine.payload import pointer

MAX_BYTES: Final = 4 << 20
MAX_PATHS: Final = 10_000
"""Each request is compared with all paths of its length."""
_MOST_REFERENCES: Final = 50
METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")


@dataclass(frozen=True, slots=True)
class PathItem:
    template: str
    value: JsonObject

    @property
    def methods(self) -> frozenset[str]:
        return frozenset(each for each in METHODS if isinstance(self.value.get(each), dict))

    @property
    def variable(self) -> str:
        """The name of the last segment, if it is a variable."""
        last = segments(self.template)[-1] if segments(self.template) else ""
        return last[1:-1] if _is_variable(last) else ""


class OpenApi:
    def __init__(self, value: Json) -> None:
        if not isinstance(value, dict) or not isinstance(value.get("paths"), dict):
            raise ValidationError("the OpenAPI document has no paths")
        self._value: JsonObject = value
        self._is_old = "swagger" in value
        if len(value["paths"]) > MAX_PATHS:
            raise ValidationError(f"the OpenAPI document has {len(value['paths'])} paths; expected at most {MAX_PATHS}")
        self._targets: dict[str, Json] = {}
        self._items: dict[int, list[tuple[list[str], PathItem]]] = {}
        """By the number of segments, which stand beside each."""
        self._children: dict[tuple[str, ...], PathItem] = {}
        for template, item in value["paths"].items():
            if isinstance(item, dict) and isinstance(template, str):
                parts, found = segments(template), PathItem(template, item)
                self._items.setdefault(len(parts), []).append((parts, found))
                if found.variable:
                    self._children.setdefault(tuple(parts[:-1]), found)

    def item(self, path: str) -> PathItem | None:
        """The path item that fits best: literal segments before variables."""
        parts, best, most = segments(path), None, -1
        for template, each in self._items.get(len(parts), ()):
            score = _score(template, parts)
            if score > most:
                best, most = each, score
        return best

    def collections(self) -> list[str]:
        """The addresses of all collections that can be listed, with `_` for each variable."""
        found = set[str]()
        for template, each in chain.from_iterable(self._items.values()):
            if "get" in each.methods and self.child(each) is not None and not each.variable:
                found.add("/" + "/".join(WILDCARD if _is_variable(part) else part for part in template))
        return sorted(found)

    def child(self, item: PathItem) -> PathItem | None:
        """The item of one object in a collection: one variable deeper."""
        return self._children.get(tuple(segments(item.template)))

    def is_collection(self, path: str) -> bool:
        item = self.item(path)
        if item is None or not item.methods & {"get", "post"}:
            return False
        child = self.child(item)
        return child is not None and bool(child.methods & {"get", "put", "patch", "delete"})

    def resolve(self, value: Json) -> JsonObject:
        """What a reference refers to; an empty object for one that leads nowhere."""
        for _ in range(_MOST_REFERENCES):
            if not isinstance(value, dict):
                return {}
            if not isinstance(value.get("$ref"), str):
                return value
            value = self._referred(value["$ref"])
        return {}

    def _referred(self, reference: str) -> Json:
        """Each reference is followed once: one may have megabytes, and stand for every part of a body."""
        if reference not in self._targets:
            is_here = reference.startswith("#/")
            self._targets[reference] = pointer.get(self._value, reference[1:]) if is_here else None
        return self._targets[reference]

    def at(self, where: str) -> JsonObject:
        found = pointer.get(self._value, where)
        if not isinstance(found, dict):
            raise ValidationError(f"the OpenAPI document has nothing at {where}")
        return found

    def request_bodies(self, item: PathItem, method: str) -> dict[str, JsonObject]:
        """Schemas of the body by media type."""
        operation = self.resolve(item.value.get(method.lower()))
        if not self._is_old:
            return self._contents(self.resolve(operation.get("requestBody")))
        parameters = map(self.resolve, _items(operation.get("parameters")))
        body = next((each for each in parameters if each.get("in") == "body"), None)
        medias = _texts(operation.get("consumes")) or _texts(self._value.get("consumes")) or ["application/json"]
        return {media: self.resolve(body.get("schema")) for media in medias} if body is not None else {}

    def responses(self, item: PathItem, method: str) -> dict[str, JsonObject]:
        """Schemas of what a success answers, by media type."""
        operation = self.resolve(item.value.get(method.lower()))
        answers = operation.get("responses", {})
        for code in ("200", "201", "202", "default"):
            answer = self.resolve(answers.get(code)) if isinstance(answers, dict) else {}
            if self._is_old and "schema" in answer:
                medias = (
                    _texts(operation.get("produces")) or _texts(self._value.get("produces")) or ["application/json"]
                )
                return {media: self.resolve(answer["schema"]) for media in medias}
            if found := self._contents(answer):
                return found
        return {}

    def _contents(self, holder: JsonObject) -> dict[str, JsonObject]:
        content = holder.get("content")
        if not isinstance(content, dict):
            return {}
        return {media: self.resolve(self.resolve(each).get("schema")) for media, each in content.items()}

    def properties(self, schema: JsonObject) -> Iterator[str]:
        """The names of a schema's properties, those of `allOf` included."""
        waiting, seen = [schema], set[int]()
        while waiting:
            found = self.resolve(waiting.pop())
            if id(found) not in seen:
                seen.add(id(found))
                yield from members(found)
                waiting += _items(found.get("allOf"))


def members(schema: JsonObject) -> JsonObject:
    """The schemas of its properties."""
    found = schema.get("properties")
    return found if isinstance(found, dict) else {}


def _items(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _texts(value: Json) -> list[str]:
    return [each for each in _items(value) if isinstance(each, str)]


def _is_variable(segment: str) -> bool:
    return segment.startswith("{") and segment.endswith("}")


def _score(template: list[str], parts: list[str]) -> int:
    """-1 if they do not match."""
    if len(template) != len(parts):
        return -1
    score = 0
    for pattern, part in zip(template, parts, strict=True):
        if _is_variable(pattern):
            score += 2 if part == WILDCARD else 1
        elif pattern == part or (glob.is_glob(part) and glob.matches(part, pattern)):
            score += 3
        else:
            return -1
    return score
