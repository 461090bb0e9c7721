"""Which metadata documents hold for a path, from the outermost to the innermost, and what they add up to. Pure.

Sources come in order, a shared one before the repository's own. Inside one source: the document of the root, then by
depth those of all directories that match, wildcards first and the literal name last, then the resource's own
document. A collection's document holds for the collection, for what is directly in it, and for all below it if it
says `descendants`.

What matches is found once for each collection, and rules are compiled once for each set of documents. Nothing is kept
for a resource without a document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import SyncError, ValidationError, of
from homeostat.operators.sync.engine.metadata.defaults import effective
from homeostat.operators.sync.engine.metadata.document import included, read_document
from homeostat.operators.sync.engine.metadata.merge import defaults as merged_defaults
from homeostat.operators.sync.engine.metadata.merge import merged
from homeostat.operators.sync.engine.metadata.rules import Rules, compile_rules
from homeostat.operators.sync.engine.paths.logical import ROOT, WILDCARD, segments
from homeostat.operators.sync.engine.paths.selector import Selector, is_wild, selects
from homeostat.operators.sync.engine.payload.codec import decode
from homeostat.operators.sync.engine.payload.format import JSON, YAML, by_extension
from homeostat.operators.sync.engine.tree.directory import Directory
from homeostat.operators.sync.engine.tree.layout import defaults_profile, extension, metadata_file


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """One document, its defaults with their files read, and the depth of its collection."""

    document: JsonObject
    defaults: JsonObject | None = None
    types: frozenset[str] = frozenset()
    depth: int = 0

    @property
    def has_descendants(self) -> bool:
        return bool(self.document.get("selector", {}).get("descendants"))


@dataclass(slots=True)
class _Source:
    root: Directory
    matched: dict[tuple[str, ...], tuple[Directory, ...]] = field(default_factory=dict)
    wild: dict[int, tuple[str, ...]] = field(default_factory=dict)
    read: dict[tuple[int, bool], Layer] = field(default_factory=dict)
    nearby: dict[tuple[str, ...], tuple[Layer, ...]] = field(default_factory=dict)

    def layers(self, parts: tuple[str, ...], *, with_own: bool) -> list[Layer]:
        found = [*self.inherited(parts[:-1]), *self.at(parts)] if parts else self.at(parts)
        if with_own and parts and (own := self.root.at(parts)) is not None:
            found += [layer] if (layer := self._layer(own, len(parts), is_collection=False)) else []
        return found

    def inherited(self, parent: tuple[str, ...]) -> tuple[Layer, ...]:
        """Those of the collection and of what is above it; the same for all that is in the collection."""
        if parent not in self.nearby:
            above = [
                layer
                for depth in range(len(parent))
                for layer in self.at(parent[:depth])
                if depth == 0 or layer.has_descendants
            ]
            self.nearby[parent] = (*above, *self.at(parent))
        return self.nearby[parent]

    def at(self, parts: tuple[str, ...]) -> list[Layer]:
        """The collection documents of every directory that matches these segments."""
        found, known = [], self.matched.get(parts)
        for each in self._match(parts) if known is None else known:
            inner = each.directories.get(WILDCARD)
            if inner is not None and (layer := self._layer(inner, len(parts), is_collection=True)):
                found.append(layer)
        return found

    def _matching(self, parts: tuple[str, ...]) -> tuple[Directory, ...]:
        """Kept, for what is in the collection."""
        if (known := self.matched.get(parts)) is None:
            known = self.matched[parts] = self._match(parts)
        return known

    def _match(self, parts: tuple[str, ...]) -> tuple[Directory, ...]:
        if not parts:
            return (self.root,)
        found = list[Directory]()
        for each in self._matching(parts[:-1]):
            found += [each.directories[name] for name in self._wild(each) if selects(name, parts[-1])]
            if (literal := each.directories.get(parts[-1])) is not None and not is_wild(parts[-1]):
                found.append(literal)
        return tuple(found)

    def _wild(self, directory: Directory) -> tuple[str, ...]:
        if id(directory) not in self.wild:
            self.wild[id(directory)] = tuple(sorted(each for each in directory.directories if is_wild(each)))
        return self.wild[id(directory)]

    def _layer(self, directory: Directory, depth: int, *, is_collection: bool) -> Layer | None:
        key = (id(directory), is_collection)
        # Most resources have no document, and there may be hundreds of thousands of them.
        if key not in self.read and (layer := read_layer(directory, depth, is_collection=is_collection)) is not None:
            self.read[key] = layer
        return self.read.get(key)


class Metadata:
    """The metadata of all sources. It keeps what it has read and compiled, and never reads a file twice."""

    def __init__(self, *sources: Directory) -> None:
        self._sources = [_Source(each) for each in sources]
        self._rules: dict[tuple[int, ...], Rules] = {}

    def rules(self, path: str, *, is_collection: bool = False) -> Rules:
        try:
            layers = self.layers(path, is_collection=is_collection)
            key = tuple(map(id, layers))
            if key not in self._rules:
                self._rules[key] = rules_of(layers)
            return self._rules[key]
        except SyncError as error:
            raise of(path, error) from error

    def layers(self, path: str, *, is_collection: bool = False) -> list[Layer]:
        parts = tuple(segments(path))
        return [layer for each in self._sources for layer in each.layers(parts, with_own=not is_collection)]

    def overrides(self, path: str, *, is_collection: bool = False) -> JsonObject:
        return self.rules(path, is_collection=is_collection).overrides


def rules_of(layers: Sequence[Layer]) -> Rules:
    """Compiled from documents in this order."""
    blocks = [each.defaults for each in layers if each.defaults is not None]
    block = reduce(merged_defaults, blocks) if blocks else None
    return compile_rules(
        reduce(merged, (each.document for each in layers), {}),
        defaults=effective(block) if block is not None else None,
        defaults_types=frozenset().union(*(each.types for each in layers)),
        descendant_depth=max((each.depth for each in layers if each.has_descendants), default=-1),
    )


def read_layer(directory: Directory, depth: int, *, is_collection: bool) -> Layer | None:
    name = metadata_file(directory.files)
    if name is None:
        return None
    try:
        value = decode(directory.read(name), JSON if name.endswith(".json") else YAML)
        document = read_document(value, is_collection=is_collection)
        block, types = _with_files(document.get("resource", {}).get("defaults"), directory)
    except ValidationError as error:
        raise ValidationError(f"{name}: {error}") from error
    return Layer(document, block, types, depth)


def stored_document(root: Directory, selector: Selector) -> JsonObject | None:
    """The document of exactly this address; None if there is none."""
    directory = root.at([each for each in selector.directory.split("/") if each])
    layer = read_layer(directory, 0, is_collection=selector.is_collection) if directory is not None else None
    return layer.document if layer is not None else None


def documented(root: Directory) -> Iterator[str]:
    """The addresses of all collections below the root that have a document, with `_` for any name."""
    for path, directory in root.walk():
        inner = directory.directories.get(WILDCARD)
        if path != ROOT and inner is not None and metadata_file(inner.files) is not None:
            yield path


def _with_files(block: JsonObject | None, directory: Directory) -> tuple[JsonObject | None, frozenset[str]]:
    """The defaults of a document with their files in place of the includes."""
    if block is None:
        return None, frozenset()
    types = set[str]()

    def content(value: Json) -> Json:
        file = included(value)
        if file is None:
            return value
        types.add(by_extension(extension(file)).type)
        return read_defaults(directory, file)

    found = dict(block)
    if "value" in block:
        found["value"] = content(block["value"])
    if "profiles" in block:
        found["profiles"] = {name: content(each) for name, each in block["profiles"].items()}
    return found, frozenset(types)


def read_defaults(directory: Directory, file: str) -> JsonObject:
    if defaults_profile(file) is None:
        raise ValidationError(f'"{file}" is not a file of defaults; expected defaults.yaml or defaults-NAME.yaml')
    if file not in directory.files:
        raise ValidationError(f"metadata includes {file}, and there is no such file beside it")
    value = decode(directory.read(file), by_extension(extension(file)))
    if not isinstance(value, dict):
        raise ValidationError(f"file {file} does not hold an object")
    return value
