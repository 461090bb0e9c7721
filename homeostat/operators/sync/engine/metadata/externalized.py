"""Attributes that are kept in files of their own beside the payload. Pure.

The payload holds `{{include FILE}}` in their place. A pointer with `*` stands for the items of a list, and the
numbers of the items become part of the file's name: `step-0.txt`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.payload import pointer


@dataclass(frozen=True, slots=True)
class Externalized:
    path: str
    file: str
    template: str = "{{include %s}}"
    saves: bool = True
    renders: bool = True

    def file_at(self, numbers: tuple[int, ...]) -> str:
        if not numbers:
            return self.file
        stem, dot, ending = self.file.rpartition(".")
        suffix = "".join(f"-{each}" for each in numbers)
        return f"{stem}{suffix}.{ending}" if dot else f"{self.file}{suffix}"

    def placeholder(self, file: str) -> str:
        return self.template.replace("%s", file)


def parse_externalized(entries: Iterable[JsonObject]) -> tuple[Externalized, ...]:
    return tuple(
        Externalized(
            each["path"],
            each["file"],
            each.get("template", "{{include %s}}"),
            each.get("saveBehavior", "externalize") == "externalize",
            each.get("renderBehavior", "include") == "include",
        )
        for each in entries
        if each.get("enabled", True)
    )


def include(value: Json, entries: Iterable[Externalized], read: Callable[[str], bytes | None]) -> Json:
    """The value with the contents of the files in it."""
    for entry in entries:
        if not entry.renders:
            continue
        for numbers, at in list(pointer.expand(value, entry.path)):
            file = entry.file_at(numbers)
            if pointer.get(value, at) != entry.placeholder(file):
                continue
            data = read(file)
            if data is None:
                raise ValidationError(f"attribute {at} is kept in {file}, and there is no such file")
            try:
                value = pointer.put(value, at, data.decode())
            except UnicodeDecodeError as error:
                raise ValidationError(f"file {file} of attribute {at} is not UTF-8 text") from error
    return value


def externalize(value: Json, entries: Iterable[Externalized]) -> tuple[Json, dict[str, bytes]]:
    """The value with placeholders, and the files. Only texts are taken out."""
    files = dict[str, bytes]()
    for entry in entries:
        if not entry.saves:
            continue
        for numbers, at in list(pointer.expand(value, entry.path)):
            found = pointer.get(value, at)
            file = entry.file_at(numbers)
            if isinstance(found, str) and found != entry.placeholder(file):
                files[file] = found.encode()
                value = pointer.put(value, at, entry.placeholder(file))
    return value, files
