"""The kinds that a server serves, and how a word names one of them.

A word is a plural, a singular, a short name, a Kind or a category, in any case, alone or followed by its group
(`deploy.apps`) or version and group (`deploy.v1.apps`); a prefix of the group is enough. If several kinds match, the
server's order of preference decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from typing import Final

from homeostat.cli.console.failure import Failure
from homeostat.client import discovery
from homeostat.client.base import Client
from homeostat.objects.json import JsonObject
from homeostat.objects.kind import Kind

__all__ = ["Kind", "Kinds", "discover", "with_type_meta"]

_NEAR: Final = 0.7
"""How much alike a suggestion is. With 0.6, the default of `difflib`, `ing` would be suggested for `nothing`."""


class Kinds:
    """All kinds of a server, in its order of preference."""

    def __init__(self, kinds: Sequence[Kind], *, stale: Sequence[str] = ()) -> None:
        self._kinds, self._stale = kinds, stale

    def __iter__(self) -> Iterator[Kind]:
        return iter(self._kinds)

    def resolve(self, words: str) -> list[Kind]:
        """The kinds of a comma list, each once."""
        found = [kind for word in words.split(",") if word for kind in self._resolve(word)]
        if not found:
            raise Failure("a kind is missing; expected one like configmaps or deployments.apps")
        return list(dict.fromkeys(found))

    def find(self, api_version: str, kind: str) -> Kind | None:
        """The kind of a manifest; None if the server does not serve it."""
        return next((each for each in self._kinds if (each.api_version, each.kind) == (api_version, kind)), None)

    def require(self, api_version: str, kind: str, *, before: str = "apply its definition") -> Kind:
        """The kind of a manifest; `Failure` with advice if the server does not serve it. `before` says how to install
        a missing kind.
        """
        found = self.find(api_version, kind)
        if found is None:
            raise Failure(f"the server has no kind {kind} in {api_version}; {self._near(api_version, kind, before)}")
        return found

    def _near(self, api_version: str, kind: str, before: str) -> str:
        if versions := [each.api_version for each in self._kinds if each.kind == kind]:
            advice = f"did you mean apiVersion: {' or '.join(dict.fromkeys(versions))}?"
        elif near := get_close_matches(kind, [each.kind for each in self._kinds], n=1, cutoff=_NEAR):
            known = {each.api_version for each in self._kinds if each.kind == near[0]}
            other = "" if api_version in known else f" in {min(known)}"
            advice = f"did you mean kind: {near[0]}{other}?"
        else:
            advice = f"{before} first"
        return self._with_stale(advice)

    def _resolve(self, word: str) -> list[Kind]:
        text = word.lower()
        name, _, rest = text.partition(".")
        for group, version in _readings(rest):
            matching = [
                kind
                for kind in self._kinds
                if name in kind.words() and kind.group.startswith(group) and version in {"", kind.version}
            ]
            if matching:
                return [next((kind for kind in matching if kind.group == group), matching[0])]
        in_category = [] if rest else self._of_category(text)
        if not in_category:
            raise Failure(f'the server has no kind "{word}"; {self._hint(text)}')
        return in_category

    def _of_category(self, name: str) -> list[Kind]:
        found: dict[tuple[str, str], Kind] = {}
        for kind in self._kinds:
            if name in kind.categories and "list" in kind.verbs:
                found.setdefault((kind.group, kind.plural), kind)
        return list(found.values())

    def _hint(self, text: str) -> str:
        known = sorted({word for kind in self._kinds for word in kind.words()})
        near = get_close_matches(text, known, n=1, cutoff=_NEAR)
        if near:
            advice = f'did you mean "{near[0]}"?'
        else:
            advice = "list all kinds with homeostat api-resources, or install its CustomResourceDefinition"
        return self._with_stale(advice)

    def _with_stale(self, advice: str) -> str:
        return f"discovery is incomplete: {', '.join(self._stale)}; {advice}" if self._stale else advice


def _readings(rest: str) -> Iterable[tuple[str, str]]:
    """The text after the first dot is a group, or a version and a group."""
    yield rest, ""
    version, _, group = rest.partition(".")
    if version:
        yield group, version


async def discover(client: Client) -> Kinds:
    found = await discovery.discover(client)
    return Kinds(found.kinds, stale=found.stale)


def with_type_meta(kind: Kind, obj: JsonObject) -> JsonObject:
    """The object with apiVersion and kind, which the items of a list lack."""
    return {"apiVersion": kind.api_version, "kind": kind.kind, **obj}
