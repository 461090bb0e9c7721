"""The formats of payloads: what a file's extension or a media type says about its content. Pure.

A structured format holds objects, lists and scalars; a text format one string; a binary format bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from homeostat.operators.sync.engine.errors import ValidationError

Shape = Literal["structured", "text", "binary"]


@dataclass(frozen=True, slots=True)
class Descriptor:
    """What is known of a payload's form: its type, its media type and the extension of its file."""

    type: str
    media: str
    extension: str

    @property
    def shape(self) -> Shape:
        return _SHAPES[self.type]

    @property
    def is_structured(self) -> bool:
        return self.shape == "structured"


JSON: Final = Descriptor("json", "application/json", ".json")
YAML: Final = Descriptor("yaml", "application/yaml", ".yaml")
INI: Final = Descriptor("ini", "application/ini", ".ini")
PROPERTIES: Final = Descriptor("properties", "text/x-java-properties", ".properties")
XML: Final = Descriptor("xml", "application/xml", ".xml")
HCL: Final = Descriptor("hcl", "application/hcl", ".hcl")
TEXT: Final = Descriptor("text", "text/plain", ".txt")
BINARY: Final = Descriptor("octet-stream", "application/octet-stream", ".bin")

_ALL: Final = (JSON, YAML, INI, PROPERTIES, XML, HCL, TEXT, BINARY)
_SHAPES: Final[dict[str, Shape]] = {
    **dict.fromkeys(("json", "yaml", "ini", "properties"), "structured"),
    **dict.fromkeys(("xml", "hcl", "text"), "text"),
    "octet-stream": "binary",
}
_BY_NAME: Final = {
    **{each.type: each for each in _ALL},
    "binary": BINARY,
    "yml": YAML,
    "txt": TEXT,
    "props": PROPERTIES,
}
_EXTENSIONS: Final = {
    **{each.extension: each for each in _ALL},
    ".yml": YAML,
    ".props": PROPERTIES,
    ".text": TEXT,
    **dict.fromkeys((".csv", ".html", ".htm", ".css", ".js"), TEXT),
}
_MEDIA_OF_TEXT: Final = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".htm": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
}
_MEDIA: Final = {
    **{each.media: each for each in _ALL},
    **dict.fromkeys(("application/x-yaml", "text/yaml", "text/x-yaml"), YAML),
    "text/ini": INI,
    **dict.fromkeys(("application/properties", "text/properties"), PROPERTIES),
    "text/xml": XML,
    "text/hcl": HCL,
    **{media: Descriptor("text", media, extension) for extension, media in _MEDIA_OF_TEXT.items()},
    "application/javascript": Descriptor("text", "application/javascript", ".js"),
}
TYPES: Final = frozenset(each.type for each in _ALL)


def by_extension(extension: str) -> Descriptor:
    """The format of a file; an unknown extension is binary and is kept."""
    lower = extension.lower()
    found = _EXTENSIONS.get(lower)
    if found is None:
        return Descriptor(BINARY.type, BINARY.media, extension or BINARY.extension)
    return Descriptor(found.type, _MEDIA_OF_TEXT.get(lower, found.media), lower)


def by_media(media: str) -> Descriptor | None:
    """The format of a media type, parameters aside; None for one that says nothing."""
    plain = media.partition(";")[0].strip().lower()
    if plain in _MEDIA:
        return _MEDIA[plain]
    for suffix, found in (("+json", JSON), ("+xml", XML), ("+yaml", YAML)):
        if plain.endswith(suffix):
            return Descriptor(found.type, plain, found.extension)
    return Descriptor(TEXT.type, plain, TEXT.extension) if plain.startswith("text/") else None


def by_type(name: str) -> Descriptor:
    found = _BY_NAME.get(name.lower())
    if found is None:
        raise ValidationError(f'"{name}" is not a payload type; expected one of {", ".join(sorted(TYPES))}')
    return found


def by_word(word: str) -> Descriptor:
    """The format that a person names: a type, an extension or a media type."""
    plain = word.strip()
    if plain.startswith("."):
        return by_extension(plain)
    if "/" in plain:
        found = by_media(plain)
        return found or Descriptor(BINARY.type, plain.partition(";")[0].strip().lower(), BINARY.extension)
    return by_type(plain)
