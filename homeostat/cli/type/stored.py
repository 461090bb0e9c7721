"""Lists the resource types of a server, and finds them by name, plural or short name."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from difflib import get_close_matches

import msgspec

from homeostat.cli.console.failure import Failure
from homeostat.cli.objects.kinds import with_type_meta
from homeostat.client.base import Client
from homeostat.objects.errors import NotFoundError
from homeostat.objects.json import JsonObject
from homeostat.operators.actions.api import RESOURCE_TYPE, ResourceType
from homeostat.operators.actions.types.naming import kind_name, kind_of_type, resource_kind, version_name

_AGAIN_S = 0.2


class FoundType(msgspec.Struct, frozen=True):
    """A type on the server, as JSON and as a struct."""

    obj: JsonObject
    type: ResourceType

    @property
    def title(self) -> str:
        """The name that commands accept: `DatabaseCluster/v1`."""
        return f"{self.type.spec.name}/{self.type.spec.version}"

    def words(self) -> set[str]:
        spec = self.type.spec
        return {self.type.metadata.name, spec.name.lower(), *resource_kind(spec).words()}


def found_type(obj: JsonObject) -> FoundType:
    try:
        typed = msgspec.json.decode(msgspec.json.encode(obj), type=ResourceType)
    except msgspec.ValidationError as error:
        raise Failure(f'the resource type "{obj["metadata"]["name"]}": {error}') from error
    return FoundType(with_type_meta(RESOURCE_TYPE.kind, obj), typed)


async def list_types(client: Client, *, patience_s: float = 0.0) -> list[FoundType]:
    """Retries for `patience_s`, because a server that has just started may not serve types yet."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            items, _ = await client.list(RESOURCE_TYPE.kind.path(""))
            break
        except NotFoundError as error:
            if time.monotonic() >= deadline:
                raise no_types() from error
        await asyncio.sleep(_AGAIN_S)
    return sorted(map(found_type, items), key=lambda each: (each.type.spec.name, each.type.spec.version))


def no_types() -> Failure:
    return Failure(
        "the server does not serve resource types; a plane serves them unless --operators leaves out actions; for a "
        "cluster: homeostat crds --operators actions | kubectl apply --server-side -f -"
    )


def chosen_types(types: Sequence[FoundType], word: str) -> list[FoundType]:
    """Returns all versions of the type, or the one after the slash."""
    name, _, version = word.partition("/")
    known = {name.lower(), kind_name(name).lower()}
    found = [each for each in types if known & each.words()]
    if version:
        found = [each for each in found if version_name(each.type.spec.version) == version_name(version)]
    if not found:
        raise Failure(f'there is no resource type "{word}"{_hint(types, name)}')
    return found


def one_type(types: Sequence[FoundType], word: str) -> FoundType:
    found = chosen_types(types, word)
    if len(found) > 1:
        raise Failure(f'"{word}" has several versions; name one: {", ".join(each.title for each in found)}')
    return found[0]


def siblings(types: Iterable[FoundType], of: FoundType) -> list[FoundType]:
    """Other versions of the same kind."""
    kind = kind_of_type(of.type.spec)
    return [each for each in types if kind_of_type(each.type.spec) == kind and each is not of]


def _hint(types: Iterable[FoundType], name: str) -> str:
    known = sorted({each.type.spec.name for each in types})
    if not known:
        return "; there are none; to add one: homeostat type add -f FILE"
    near = get_close_matches(name, known, n=1)
    return f'; did you mean "{near[0]}"?' if near else f"; there are: {', '.join(known)}"
