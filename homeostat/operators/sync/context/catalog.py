"""The catalog of contexts: one YAML file, with the name of the current context.

A change holds a lock and starts from the file as it is then, so that two commands at once lose no context.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from homeostat.external.files import replace_private_file
from homeostat.objects.json import Json, JsonObject
from homeostat.operators.sync.context.document import read_context, read_credentials
from homeostat.operators.sync.engine.errors import NotFoundError, ValidationError
from homeostat.operators.sync.engine.payload import yaml
from homeostat.operators.sync.repository.files import exclusive_file, read_file

LARGEST: Final = 4 << 20
_LOCKED_S: Final = 10.0
"""How long to wait while another command changes the catalog."""
_KEYS: Final = ("currentContext", "defaultEditor", "credentials", "contexts")


@dataclass(frozen=True, slots=True)
class Catalog:
    contexts: tuple[JsonObject, ...] = ()
    current: str = ""
    editor: str = ""
    credentials: tuple[JsonObject, ...] = ()

    def context(self, name: str = "") -> JsonObject:
        """The named or the current context."""
        wanted = name or self.current
        if not wanted and not self.contexts:
            raise NotFoundError(
                "there is no context yet; write one (`context print-template`) and add it: `context add -f FILE`"
            )
        if not wanted:
            raise NotFoundError("there is no current context; choose one with --context or `context use NAME`")
        for each in self.contexts:
            if each["name"] == wanted:
                return each
        raise NotFoundError(f'there is no context "{wanted}"; `context list` shows them')

    def added(self, context: JsonObject) -> Catalog:
        if any(each["name"] == context["name"] for each in self.contexts):
            raise ValidationError(f'there is a context "{context["name"]}" already')
        return replace(self, contexts=(*self.contexts, context), current=self.current or context["name"])

    def updated(self, context: JsonObject) -> Catalog:
        self.context(context["name"])
        changed = (context if each["name"] == context["name"] else each for each in self.contexts)
        return replace(self, contexts=tuple(changed))

    def used(self, name: str) -> Catalog:
        return replace(self, current=self.context(name)["name"])

    def renamed(self, name: str, new: str) -> Catalog:
        found = self.context(name)
        if not new or any(each["name"] == new for each in self.contexts):
            raise ValidationError(f'"{new}" is empty or the name of another context')
        changed = ({**each, "name": new} if each is found else each for each in self.contexts)
        return replace(self, contexts=tuple(changed), current=new if self.current == name else self.current)

    def without(self, name: str) -> Catalog:
        found = self.context(name)
        left = tuple(each for each in self.contexts if each is not found)
        current = self.current if self.current != name else (left[0]["name"] if left else "")
        return replace(self, contexts=left, current=current)

    def with_credentials(self, credentials: Sequence[JsonObject]) -> Catalog:
        """Those of the same names are replaced."""
        names = {each["name"] for each in credentials}
        kept = (each for each in self.credentials if each.get("name") not in names)
        return replace(self, credentials=(*kept, *credentials))

    def credential(self, name: str) -> JsonObject:
        for each in self.credentials:
            if each.get("name") == name:
                return each
        raise ValidationError(f'there are no credentials "{name}" in the catalog')


def catalog_path(environment: Mapping[str, str]) -> Path:
    given = environment.get("DECLAREST_CONTEXTS_FILE")
    return (
        Path(given) if given else Path(environment.get("HOME", "~")).expanduser() / ".declarest/configs/contexts.yaml"
    )


async def read_catalog(path: Path) -> Catalog:
    """An empty one if there is no file."""
    data = await asyncio.to_thread(_read, path)
    value = yaml.load(data) if data else None
    return Catalog() if value is None else catalog_of(value, f"the catalog {path}")


def catalog_of(value: Json, where: str) -> Catalog:
    """Read strictly; `where` names it in errors."""
    if not isinstance(value, dict) or (unknown := value.keys() - set(_KEYS)):
        problem = f"has unknown keys: {', '.join(sorted(unknown))}" if isinstance(value, dict) else "is not an object"
        raise ValidationError(f"{where} {problem}")
    contexts = tuple(read_context(each) for each in value.get("contexts") or ())
    names = [each["name"] for each in contexts]
    if len(set(names)) != len(names):
        raise ValidationError(f"{where} has two contexts of one name")
    return Catalog(
        contexts,
        value.get("currentContext") or "",
        value.get("defaultEditor") or "",
        read_credentials(value.get("credentials") or []),
    )


async def change_catalog(path: Path, change: Callable[[Catalog], Catalog]) -> None:
    async with exclusive_file(path, timeout_s=_LOCKED_S):
        await asyncio.to_thread(replace_private_file, path, _encoded(change(await read_catalog(path))))


def _encoded(catalog: Catalog) -> bytes:
    value: JsonObject = {"currentContext": catalog.current}
    if catalog.editor:
        value["defaultEditor"] = catalog.editor
    if catalog.credentials:
        value["credentials"] = list(catalog.credentials)
    value["contexts"] = [{key: item for key, item in each.items() if item != {}} for each in catalog.contexts]
    return yaml.dump(value, is_sorted=False)


def _read(path: Path) -> bytes:
    return read_file(path, noun="the catalog", most=LARGEST) if path.exists() else b""
