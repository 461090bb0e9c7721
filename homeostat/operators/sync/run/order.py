"""In which order resources are applied: what others need comes first. Pure.

A resource needs the nearest declared resource above it, and every resource that its payload refers to: by the whole
logical path, or in a field that is named after the other's collection (`customer`, `customerId`, `customers`) by its
alias or id. A cycle is applied in one level, because nothing in it can come first.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from homeostat.objects.json import Json
from homeostat.operators.sync.engine.paths.logical import ROOT, name, parent

_SUFFIXES: Final = ("id", "ids", "ref", "refs", "name", "names", "key", "keys", "path", "alias")
_words = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])").findall
_MOST: Final = 10_000
"""The most strings of one payload that are searched for references."""


@dataclass(frozen=True, slots=True)
class Node:
    path: str
    names: frozenset[str]
    """Its alias and id."""
    value: Json = None


def levels(needs: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Groups of paths, each of which needs only earlier ones."""
    waiting = {path: len(set(each)) for path, each in needs.items()}
    dependents = defaultdict[str, list[str]](list)
    for path, each in needs.items():
        for other in set(each):
            dependents[other].append(path)
    found, ready = list[list[str]](), [path for path, count in waiting.items() if not count]
    while waiting:
        if not ready:
            # A cycle, and what depends on it: by depth, as without references.
            depth = min(path.count("/") for path in waiting)
            ready = [path for path in waiting if path.count("/") == depth]
        found.append(ready)
        for path in ready:
            waiting.pop(path)
        following = dict[str, None]()
        for path in ready:
            for other in dependents[path]:
                if other in waiting:
                    waiting[other] -= 1
                    if waiting[other] <= 0:
                        following[other] = None
        ready = list(following)
    return found


def needed(
    found: Iterable[Node], value_of: Callable[[Node], Json] = lambda node: node.value
) -> dict[str, frozenset[str]]:
    """For each path those that have to be applied before it. `value_of` may read a value when it is its turn."""
    nodes = {each.path: each for each in found}
    index = defaultdict[tuple[str, str], list[str]](list)
    for path, node in nodes.items():
        for each in {name(path), *node.names}:
            index[singular(name(parent(path))), each].append(path)
    return {path: _needs(node, value_of(node), nodes, index) for path, node in nodes.items()}


def _needs(
    node: Node, value: Json, nodes: Mapping[str, Node], index: Mapping[tuple[str, str], list[str]]
) -> frozenset[str]:
    found = set[str]()
    above = parent(node.path)
    while above != ROOT:
        if above in nodes:
            found.add(above)
            break
        above = parent(above)
    for place, (key, text) in enumerate(_texts(value, "")):
        if place == _MOST:
            break
        if text.startswith("/") and text in nodes:
            found.add(text)
        elif (stem := _stem(key)) and (targets := index.get((stem, text))):
            found |= set(_nearest(node.path, targets))
    # What is below a resource cannot be needed by it.
    return frozenset(each for each in found if each != node.path and not each.startswith(f"{node.path}/"))


def _nearest(path: str, targets: list[str]) -> list[str]:
    """Of several with the same name, those that share most of the path."""
    if len(targets) < 2:
        return targets
    shared = {each: _shared(path, each) for each in targets}
    most = max(shared.values())
    return [each for each, count in shared.items() if count == most]


def _shared(a: str, b: str) -> int:
    count = 0
    for one, other in zip(a.split("/"), b.split("/"), strict=False):
        if one != other:
            break
        count += 1
    return count


def _texts(value: Json, key: str) -> Iterator[tuple[str, str]]:
    stack = [(value, key)]
    while stack:
        each, at = stack.pop()
        if isinstance(each, dict):
            stack += [(item, inner) for inner, item in each.items()]
        elif isinstance(each, list):
            stack += [(item, at) for item in each]
        elif isinstance(each, str) or type(each) is int:
            yield at, str(each)


def _stem(key: str) -> str:
    """`customerId`, `customer_id` and `customers` are `customer`."""
    words = [each.lower() for each in _words(key)]
    while len(words) > 1 and words[-1] in _SUFFIXES:
        words.pop()
    return singular(words[-1]) if words else ""


def singular(word: str) -> str:
    """Of a collection's name: only its last word counts."""
    parts = _words(word)
    last = parts[-1].lower() if parts else ""
    if last.endswith("ies") and len(last) > 4:
        return f"{last[:-3]}y"
    return last[:-1] if last.endswith("s") and not last.endswith("ss") else last
