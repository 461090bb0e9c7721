"""Caches hold little, whatever users write: `lru_cache` bounds the number of results and not the size of their keys.

A function of texts is cached by `cached` of `objects/memory/cache.py`, which keeps short ones alone. Those below say
what bounds their texts.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import homeostat

_PACKAGE = Path(homeostat.__file__).parent
_TEXTS = ("str", "bytes", "Hashable", "object", "Any")
BOUNDED = {
    "cel/regex/pattern.py Pattern": "`compile_pattern` asks it for short patterns alone",
    "cel/registry.py parse_type": "types in signatures of our own functions",
    "cel/timestamps.py zone": "an error, which is not kept, for what is no zone",
    "client/base.py urlencode": "queries that a client of ours makes",
    "edge/loopback.py host_is_loopback": "a header",
    "objects/apply/shape.py _filled_fields": "names of built-in types",
    "objects/identifiers.py _is_qualified_name": "its caller asks for short names alone",
    "objects/memory/cache.py function": "it is the cache of short texts",
    "objects/quantity.py parse": "an error for what is longer than a quantity",
    "objects/versions/constraint.py parse_constraint": "an error for what is longer than a range",
    "objects/versions/semver.py _parsed": "its caller asks for short versions alone",
    "objects/views/image.py _split": "its caller asks for short images alone",
    "operators/actions/runs/assignment.py _fields_of": "schemas of resource types, which administrators write",
    "operators/actions/types/definition.py _made": "resource types, which administrators write; few",
    "operators/catalog.py _definitions": "modules of operators",
    "operators/catalog.py _described": "modules of operators",
    "operators/contracts/engine/schema/contract_schema.py _compiled": "versions of our own schema",
    "operators/contracts/engine/schema/contract_schema.py contract_schema": "versions of our own schema",
    "operators/images/engine/origin.py _read": "its caller asks for short URLs alone",
    "operators/images/engine/policy.py _calendar": "a policy has at most 500 characters",
    "operators/images/engine/policy.py _pattern": "a policy has at most 500 characters",
    "operators/policy/bundle.py _load": "bundles of our own",
    "operators/sync/engine/templates/expression.py parse": "an error for what is longer than a template",
    "operators/workloads/autoscalers/usage.py _milli": "an error for what is longer than a quantity",
    "operators/workloads/pods/commands.py command_ending": "its caller asks for short commands alone",
    "operators/workloads/scheduling/neighbours.py _parsed": "selectors are compared by identity; simulated Pods alone",
    "runtime/cache/decoding.py _decoders": "types of our own",
    "runtime/cache/decoding.py _encoded_fields": "types of our own",
    "runtime/watch/source.py place_of": "paths of collections that operators watch",
    "server/admission/policies/policy.py _made": "policies, which administrators write; few",
    "server/discovery/descriptions.py texts_of": "documents of our own",
    "server/discovery/document.py _plain": "two documents of our own",
    "server/discovery/groups.py group_order": "names of served groups",
    "server/discovery/groups.py version_order": "names of served versions",
    "server/request/call.py _program": "a header",
    "server/request/negotiate.py body_type": "a header",
    "server/request/negotiate.py encoding_of_errors": "a header",
    "server/request/negotiate.py negotiate": "a header",
    "server/request/options.py parse_options": "the target of a request",
    "web/actions/bodies.py _hash": "specs of at most a MiB; few",
}


def caches(source: str) -> Iterator[str]:
    """The names of functions of texts that `lru_cache` keeps the results of."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name, decorator_list=decorators) if any(map(_is_cache, decorators)):
                annotations = [ast.unparse(each.annotation) for each in node.args.args if each.annotation is not None]
                if any(text in annotation for annotation in annotations for text in _TEXTS):
                    yield name
            case ast.Call(func=ast.Call() as made, args=[wrapped]) if _is_cache(made):
                yield ast.unparse(wrapped)


def _is_cache(node: ast.expr) -> bool:
    return ast.unparse(node).partition("(")[0] in ("lru_cache", "functools.lru_cache", "cache", "functools.cache")


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("@lru_cache(8)\ndef f(text: str) -> int: ...", ["f"]),
        ("@functools.cache\ndef f(parts: tuple[bytes, ...]) -> int: ...", ["f"]),
        ("f = lru_cache(maxsize=8)(g)", ["g"]),
        ("@lru_cache(8)\ndef f(number: int) -> int: ...", []),
        ("@cached(8)\ndef f(text: str) -> int: ...", []),
    ],
)
def test_a_cache_of_texts_is_found(source: str, found: list[str]) -> None:
    assert list(caches(source)) == found


def test_every_cache_of_texts_bounds_their_length() -> None:
    found = {
        f"{path.relative_to(_PACKAGE).as_posix()} {name}"
        for path in sorted(_PACKAGE.rglob("*.py"))
        if "cache" in (source := path.read_text())
        for name in caches(source)
    }
    assert found - BOUNDED.keys() == set(), "use `cached` of objects/memory/cache.py, or say what bounds the texts"
    assert BOUNDED.keys() - found == set()
