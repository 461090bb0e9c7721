"""Sets the tags of images in a manifest and leaves every other byte as it is. Pure.

An image matches by its exact repository, with the default names of registries filled in: `org/app` is
`docker.io/org/app`, and neither `org/app-worker` nor `ghcr.io/org/app`. `places.py` says where a file has images. A
file is read once for all changes of it, so a file of a thousand workloads costs as much as one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Final, NamedTuple

from homeostat.objects.json import Json
from homeostat.objects.views.image import parse_image
from homeostat.objects.yaml.reader import YamlError, load_all
from homeostat.objects.yaml.span import Path, Scalars, Span, SpanError, replace_scalar, replace_scalars
from homeostat.operators.images.engine.places import ManifestError, Place, places_of, value_place

_MOST_DOCUMENTS: Final = 1000
_MOST_SEEN: Final = 5

Spot = tuple[int, Path]
"""A scalar: the document and the path in it."""


class Target(NamedTuple):
    """What to write."""

    image: str
    """With its registry, without a tag."""
    tag: str
    name: str = ""
    """Of the workload. Where documents of this name have the image, they alone are edited."""
    value: str = ""
    """The path of the value, such as `web.image.tag`, in a file of Helm values."""
    digest: str = ""
    """Written beside the tag if it is given."""


class Change(NamedTuple):
    line: int
    image: str
    """As written, without tag and digest."""
    old: str
    """The tag before; empty if there was none."""
    new: str


Outcome = tuple[Change, ...] | ManifestError
"""No changes if the file has the tag already."""


class Edits(NamedTuple):
    """The result of several targets: the data with all those that are possible, and an outcome for each."""

    data: bytes
    outcomes: tuple[Outcome, ...]


class Manifest:
    """A file, read once. `ManifestError` if it is not YAML."""

    def __init__(self, data: bytes, file: str) -> None:
        self._data, self._file = data, file
        self._documents = _documents(data, file)
        self._scalars: Scalars | None = None
        found = (place for index, document in enumerate(self._documents) for place in places_of(document, index))
        self._places = [self._as_written(each) for each in found]

    def tags(self, target: Target) -> tuple[str, ...]:
        """The tags that the file has for the image now; an empty one where there is none."""
        return tuple(each.tag for each in self._matching(target))

    def set_tags(self, targets: Sequence[Target]) -> Edits:
        claims: dict[Spot, dict[str, int]] = {}
        found: list[Outcome] = []
        writes: list[dict[Spot, str]] = []
        for number, target in enumerate(targets):
            try:
                changes, wanted, held = self._claimed(target)
            except ManifestError as error:
                found.append(error)
                writes.append({})
                continue
            found.append(changes)
            writes.append(wanted)
            for spot, text in held.items():
                claims.setdefault(spot, {}).setdefault(text, number)
        for spot, texts in claims.items():
            if len(texts) > 1:
                conflict = self._conflict(spot, texts)
                for number, target in enumerate(targets):
                    if not isinstance(found[number], ManifestError) and spot in self._spots(target):
                        found[number], writes[number] = conflict, {}
        try:
            return Edits(self._written([each for some in writes for each in some.items()]), tuple(found))
        except ManifestError:
            return self._one_by_one(found, writes)

    def _one_by_one(self, found: Sequence[Outcome], writes: Sequence[Mapping[Spot, str]]) -> Edits:
        """All targets that can be written together; the others get the error."""
        data, accepted, outcomes = self._data, list[tuple[Spot, str]](), list(found)
        for number, some in enumerate(writes):
            try:
                data = self._written([*accepted, *some.items()])
                accepted += some.items()
            except ManifestError as error:
                outcomes[number] = error
        return Edits(data, tuple(outcomes))

    def _claimed(self, target: Target) -> tuple[tuple[Change, ...], dict[Spot, str], dict[Spot, str]]:
        """The changes, the texts to write, and the texts of all places that the target is about."""
        changes, wanted, held = [], dict[Spot, str](), dict[Spot, str]()
        for place in self._matching(target):
            texts = place.texts(self._file, target.tag, target.digest)
            held |= texts
            if place.is_at(target.tag, target.digest):
                held |= {(place.document, place.path): place.text}
                continue
            line = min(self._span(spot).line for spot in texts)
            wanted |= texts
            changes.append(Change(line, place.named, place.tag, target.tag))
        return tuple(changes), wanted, held

    def _spots(self, target: Target) -> set[Spot]:
        return {spot for place in self._matching(target) for spot in place.texts(self._file, "x", place.digest and "x")}

    def _conflict(self, spot: Spot, texts: Iterable[str]) -> ManifestError:
        wanted = " and ".join(sorted(texts))
        try:
            line = self._span(spot).line
        except ManifestError as error:
            return error
        return ManifestError(
            f"{self._file}, line {line}: several Deployments want different values here: {wanted}. "
            "Give them the same annotations, or files of their own"
        )

    def _span(self, spot: Spot) -> Span:
        document, path = spot
        try:
            if self._scalars is None:
                self._scalars = Scalars(self._data)
            return self._scalars.shared(path, document=document)
        except (SpanError, YamlError) as error:
            raise ManifestError(f"{self._file}: {error}") from error

    def _as_written(self, place: Place) -> Place:
        """A tag such as 1.10 that is not quoted is a number, whose text is in the file alone."""
        if not place.is_number:
            return place
        try:
            return place._replace(text=self._span((place.document, place.path)).text)
        except ManifestError:
            return place

    def _written(self, writes: Sequence[tuple[Spot, str]]) -> bytes:
        if not writes:
            return self._data
        texts = dict(writes)
        expected = deepcopy(self._documents)
        for (document, path), text in texts.items():
            _set(expected[document], path, text)
        try:
            return replace_scalars(self._data, {self._span(spot): text for spot, text in texts.items()}, expected)
        except ValueError:
            return self._written_singly(texts)

    def _written_singly(self, texts: Mapping[Spot, str]) -> bytes:
        """Slower, and tries several forms of quotes for each."""
        data = self._data
        for (document, path), text in texts.items():
            try:
                data = replace_scalar(data, path, text, document=document)
            except SpanError as error:
                raise ManifestError(f"{self._file}: {error}") from error
        return data

    def _matching(self, target: Target) -> Sequence[Place]:
        """All places that hold the image, or `ManifestError`."""
        if target.value:
            return [self._as_written(value_place(self._documents, self._file, target.image, target.value))]
        repository = parse_image(target.image).repository
        found = [place for place in self._places if parse_image(place.written).repository == repository]
        if not found:
            seen = ", ".join(sorted({place.named for place in self._places})[:_MOST_SEEN]) or "no image at all"
            raise ManifestError(
                f"{self._file}: no container has the image {target.image}; the file has {seen}. "
                "Correct the annotation gitops.operator.image_name or the file"
            )
        return [place for place in found if target.name and place.name == target.name] or found


def _documents(data: bytes, file: str) -> list[Json]:
    try:
        documents = list(load_all(data))
    except YamlError as error:
        raise ManifestError(f"{file} is not valid YAML: {error}") from error
    if len(documents) > _MOST_DOCUMENTS:
        raise ManifestError(f"{file} has {len(documents)} documents; at most {_MOST_DOCUMENTS} are read")
    return documents


def _set(value: Json, path: Path, text: str) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = text
