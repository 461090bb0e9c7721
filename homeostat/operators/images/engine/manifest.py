"""Sets the tag of an image in a manifest and leaves every other byte as it is. Pure.

An image matches by its exact repository, with the default names of registries filled in: `org/app` is
`docker.io/org/app`, and neither `org/app-worker` nor `ghcr.io/org/app`. Workloads of every kind match by their
containers and initContainers, a kustomization by its `images`, other files (Helm values) by the path of a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from homeostat.objects.json import Json
from homeostat.objects.views.image import parse_image
from homeostat.objects.yaml.reader import YamlError, load_all
from homeostat.objects.yaml.span import Path, SpanError, find_scalar, path_text, replace_scalar

_TEMPLATE: Final = ("spec", "template", "spec")
_POD_SPECS: Final[dict[str, Path]] = {
    "Pod": ("spec",),
    "PodTemplate": ("template", "spec"),
    "CronJob": ("spec", "jobTemplate", *_TEMPLATE),
}
_CONTAINERS: Final = ("initContainers", "containers")
_MOST_DOCUMENTS: Final = 1000


class ManifestError(Exception):
    """The file cannot be edited as asked; the message names the file and, where there is one, the line."""


class Target(NamedTuple):
    """What to write."""

    image: str
    """With its registry, without a tag."""
    tag: str
    name: str = ""
    """Of the workload. Where documents of this name have the image, they alone are edited."""
    value: str = ""
    """The path of the value, such as `web.image.tag`, in a file of Helm values."""


class Change(NamedTuple):
    line: int
    image: str
    """As written, without tag and digest."""
    old: str
    """The tag before; empty if there was none."""
    new: str


class Edit(NamedTuple):
    data: bytes
    changes: tuple[Change, ...]
    """Empty if the file has the tag already."""


class _Place(NamedTuple):
    """A scalar that holds an image, or the tag of one."""

    document: int
    path: Path
    text: str
    image: str
    """Where the scalar is a tag alone, the image that it belongs to; else empty."""
    name: str
    """Of the object around it."""


def set_tag(data: bytes, file: str, target: Target) -> Edit:
    places = _matching(data, file, target)
    changes: list[Change] = []
    for place in places:
        old = _tag_of(place)
        if old == target.tag:
            continue
        try:
            line = find_scalar(data, place.path, document=place.document).line
            data = replace_scalar(data, place.path, _with_tag(place, target.tag), document=place.document)
        except SpanError as error:
            raise ManifestError(f"{file}: {error}") from error
        changes.append(Change(line, place.image or _untagged(place.text), old, target.tag))
    return Edit(data, tuple(changes))


def current_tag(data: bytes, file: str, target: Target) -> str:
    """The tag that the file has for the image now; empty if it has none."""
    return _tag_of(_matching(data, file, target)[0])


def _matching(data: bytes, file: str, target: Target) -> Sequence[_Place]:
    """All places that hold the image, or `ManifestError`."""
    documents = _documents(data, file)
    if target.value:
        return [_value_place(documents, file, target)]
    places = [place for index, document in enumerate(documents) for place in _places(document, index)]
    repository = parse_image(target.image).repository
    found = [place for place in places if parse_image(place.image or place.text).repository == repository]
    if not found:
        seen = ", ".join(sorted({_untagged(place.image or place.text) for place in places})[:5]) or "no image at all"
        raise ManifestError(
            f"{file}: no container has the image {target.image}; the file has {seen}. "
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


def _places(value: Json, document: int, at: Path = ()) -> Iterator[_Place]:
    if not isinstance(value, dict):
        return
    kind = value.get("kind")
    items = value.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            yield from _places(item, document, (*at, "items", index))
    elif kind == "Kustomization" or (kind is None and "images" in value):
        yield from _kustomize_places(value, document, at)
    else:
        yield from _container_places(value, document, at)


def _container_places(value: dict[str, Json], document: int, at: Path) -> Iterator[_Place]:
    kind = value.get("kind")
    path = _POD_SPECS.get(kind, _TEMPLATE) if isinstance(kind, str) else _TEMPLATE
    spec = _value_at(value, path)
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    for key in _CONTAINERS:
        containers = spec.get(key) if isinstance(spec, dict) else None
        for index, container in enumerate(containers if isinstance(containers, list) else ()):
            image = container.get("image") if isinstance(container, dict) else None
            if isinstance(image, str):
                yield _Place(
                    document, (*at, *path, key, index, "image"), image, "", name if isinstance(name, str) else ""
                )


def _kustomize_places(value: dict[str, Json], document: int, at: Path) -> Iterator[_Place]:
    images = value.get("images")
    for index, entry in enumerate(images if isinstance(images, list) else ()):
        image = (entry.get("newName") or entry.get("name")) if isinstance(entry, dict) else None
        if isinstance(image, str):
            tag = entry.get("newTag", "")
            yield _Place(
                document, (*at, "images", index, "newTag"), tag if isinstance(tag, str) else str(tag), image, ""
            )


def _value_place(documents: Sequence[Json], file: str, target: Target) -> _Place:
    path = _steps(target.value)
    if len(documents) != 1:
        raise ManifestError(f"{file} has {len(documents)} documents; a file of values has one")
    found = _value_at(documents[0], path)
    image = target.image
    if isinstance(found, dict) and "tag" in found:
        path, written = (*path, "tag"), found.get("repository", image)
        found = found["tag"]
        if isinstance(written, str) and parse_image(written).repository != parse_image(image).repository:
            raise ManifestError(f"{file}: {target.value} is of the image {written}, not of {image}")
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        raise ManifestError(f"{file}: {path_text(path)} is not there or is not a text; expected an image or a tag")
    text = str(found)
    is_image = parse_image(text).repository == parse_image(image).repository and ("/" in text or ":" in text)
    return _Place(0, path, text, "" if is_image else image, "")


def _steps(path: str) -> Path:
    return tuple(int(step) if step.isascii() and step.isdigit() else step for step in path.split("."))


def _value_at(value: Json, path: Path) -> Json:
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _tag_of(place: _Place) -> str:
    return place.text if place.image else parse_image(place.text).tag


def _with_tag(place: _Place, tag: str) -> str:
    return tag if place.image else f"{_untagged(place.text)}:{tag}"


def _untagged(image: str) -> str:
    """As it is written, without tag and digest."""
    name = image.partition("@")[0]
    head, colon, tail = name.rpartition(":")
    return head if colon and "/" not in tail else name
