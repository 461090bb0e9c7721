"""Where a manifest has images: containers of workloads, `images` of a kustomization, a value of a chart. Pure.

Workloads of every kind match by their containers and initContainers: those with a Pod template in the usual place
(Deployment, StatefulSet, DaemonSet, Job, Argo's Rollout), CronJob, Pod, PodTemplate, and lists of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from homeostat.objects.json import Json
from homeostat.objects.views.image import parse_image
from homeostat.objects.yaml.span import Path, path_text
from homeostat.operators.images.engine.reference import untagged

_TEMPLATE: Final = ("spec", "template", "spec")
_POD_SPECS: Final[dict[str, Path]] = {
    "Pod": ("spec",),
    "PodTemplate": ("template", "spec"),
    "CronJob": ("spec", "jobTemplate", *_TEMPLATE),
}
_CONTAINERS: Final = ("initContainers", "containers")


class ManifestError(Exception):
    """The file cannot be edited as asked; the message names the file and, where there is one, the line."""


class Place(NamedTuple):
    """A scalar that holds an image, or the tag of one."""

    document: int
    path: Path
    text: str
    image: str = ""
    """Where the scalar is a tag alone, the image that it belongs to; else empty."""
    name: str = ""
    """Of the object around it."""
    digest_path: Path = ()
    """Of the scalar that holds the digest beside the tag; empty without one."""
    digest: str = ""
    joins_digest: bool = False
    """Whether a tag and a digest may be written as one text."""
    is_number: bool = False
    """Whether `text` was made from a number, so that the file may have another one."""

    @property
    def tag(self) -> str:
        return self.text.partition("@")[0] if self.image else parse_image(self.text).tag

    @property
    def written(self) -> str:
        """The image as it is written."""
        return self.image or self.text

    @property
    def named(self) -> str:
        """The image as it is written, without tag and digest."""
        return untagged(self.written)

    def is_at(self, tag: str, digest: str) -> bool:
        current = self.digest or self.text.partition("@")[2]
        return self.tag == tag and (not digest or current == digest)

    def texts(self, file: str, tag: str, digest: str) -> dict[tuple[int, Path], str]:
        """What to write, and where; `ManifestError` if the tag alone would have no effect."""
        here = (self.document, self.path)
        joined = f"{tag}@{digest}" if digest else tag
        if not self.image:
            return {here: f"{untagged(self.text)}:{joined}"}
        if self.digest_path and digest:
            return {here: tag, (self.document, self.digest_path): digest}
        if self.digest_path:
            raise ManifestError(
                f"{file}: {path_text(self.digest_path)} overrides the tag; remove it, or set the annotation "
                "gitops.operator.pin_digest to true"
            )
        if digest and not self.joins_digest:
            raise ManifestError(
                f"{file}: {path_text(self.path[:-1])} has no field digest to write the digest to; add one, or remove "
                "the annotation gitops.operator.pin_digest"
            )
        return {here: joined}


def places_of(value: Json, document: int, at: Path = ()) -> Iterator[Place]:
    if not isinstance(value, dict):
        return
    kind = value.get("kind")
    items = value.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            yield from places_of(item, document, (*at, "items", index))
    elif kind in ("Kustomization", "Component") or (kind is None and "images" in value):
        yield from _kustomize_places(value, document, at)
    else:
        yield from _container_places(value, document, at)


def _container_places(value: dict[str, Json], document: int, at: Path) -> Iterator[Place]:
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
                place = (*at, *path, key, index, "image")
                yield Place(document, place, image, name=name if isinstance(name, str) else "")


def _kustomize_places(value: dict[str, Json], document: int, at: Path) -> Iterator[Place]:
    images = value.get("images")
    for index, entry in enumerate(images if isinstance(images, list) else ()):
        image = (entry.get("newName") or entry.get("name")) if isinstance(entry, dict) else None
        if isinstance(image, str):
            here, digest = (*at, "images", index), entry.get("digest")
            yield Place(
                document,
                (*here, "newTag"),
                _text(entry.get("newTag", "")),
                image,
                digest_path=(*here, "digest") if digest else (),
                digest=_text(digest or ""),
                is_number=_is_number(entry.get("newTag")),
            )


def value_place(documents: Sequence[Json], file: str, image: str, value: str) -> Place:
    """The value of a chart at a path: an image, a tag, or a map with `repository` and `tag`."""
    path = _steps(value)
    if len(documents) != 1:
        raise ManifestError(f"{file} has {len(documents)} documents; a file of values has one")
    found = _value_at(documents[0], path)
    digest_path: Path = ()
    digest = ""
    if isinstance(found, dict) and "tag" in found:
        written = found.get("repository", image)
        if isinstance(written, str) and not _is_of(written, image):
            raise ManifestError(f"{file}: {value} is of the image {written}, not of {image}")
        if found.get("digest"):
            digest_path, digest = (*path, "digest"), _text(found["digest"])
        path, found = (*path, "tag"), found["tag"]
    if isinstance(found, bool) or not isinstance(found, str | int | float):
        raise ManifestError(f"{file}: {path_text(path)} is missing or is not a string; expected an image or a tag")
    text = _text(found)
    if ("/" in text or ":" in text.partition("@")[0]) and _is_of(text, image):
        return Place(0, path, text)
    return Place(
        0, path, text, image, digest_path=digest_path, digest=digest, joins_digest=True, is_number=_is_number(found)
    )


def _is_of(written: str, image: str) -> bool:
    """Charts often name the registry elsewhere, so the path alone is enough where no registry is written."""
    found, wanted = parse_image(written), parse_image(image)
    return found.repository == wanted.repository or (
        found.path == wanted.path and not written.startswith(f"{found.registry}/")
    )


def _steps(path: str) -> Path:
    return tuple(int(step) if step.isascii() and step.isdigit() else step for step in path.split("."))


def _value_at(value: Json, path: Path) -> Json:
    for step in path:
        if isinstance(step, int):
            value = value[step] if isinstance(value, list) and step < len(value) else None
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return value


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else str(value)
