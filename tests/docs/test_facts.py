"""What the documents state as tables is what the code has."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from homeostat.edge.metrics.exposition import exposition
from homeostat.plane import Settings, open_plane
from homeostat.server.discovery.groups import subresources
from homeostat.server.kinds.custom.definition import builtin_behaviours
from homeostat.server.kinds.registry import Kind, Registry, builtin_kinds
from tests.docs.documents import table_rows, text_of

_UNITS = {"": 1, "s": 1, "KiB": 1 << 10, "MiB": 1 << 20}
_LIMITS = list(table_rows(text_of("docs/operating.md"), "| limit | value | where |"))


def _found(where: str) -> float:
    """The value of `package.module.Class.field` or `package.module.CONSTANT`."""
    path, _, name = where.rpartition(".")
    try:
        return float(getattr(import_module(path), name))
    except ModuleNotFoundError:
        module, _, holder = path.rpartition(".")
        cls = getattr(import_module(module), holder)
        fields = getattr(cls, "__dataclass_fields__", None)
        return float(fields[name].default if fields else getattr(cls(), name))


@pytest.mark.parametrize(("limit", "value", "where"), _LIMITS, ids=[row[0] for row in _LIMITS])
def test_every_limit_is_the_one_in_the_code(limit: str, value: str, where: str) -> None:
    number, _, unit = value.partition(" ")
    assert _found(where) == float(number) * _UNITS[unit]


def _row(kind: Kind) -> list[str]:
    told = ", ".join(each.name for each in subresources(kind)) if kind.is_stored else "create only"
    scope = "namespace" if kind.namespaced else "cluster"
    return [kind.api_version, kind.kind, kind.plural, ", ".join(kind.short_names), scope, told]


def test_the_table_of_kinds_is_the_one_served() -> None:
    told = table_rows(text_of("docs/api.md"), "| version | kind | plural | short | scope | subresources |")
    served = builtin_kinds(builtin_behaviours(Registry()))
    assert list(told) == [_row(kind) for kind in served]


def _names_in(folder: Path) -> set[str]:
    return {each.name for each in folder.rglob("*") if each.is_file()}


async def test_every_metric_and_file_of_a_plane_is_documented_and_every_documented_metric_is_served(
    tmp_path: Path,
) -> None:
    told = {name for name, _ in table_rows(text_of("docs/operating.md"), "| metric | what |")}
    # Those of operators have a table of their own.
    async with open_plane(Settings(data=tmp_path, port=0, operators=frozenset())) as plane:
        served = set(re.findall(r"^# TYPE (\w+) ", exposition(plane.app.metrics).decode(), re.MULTILINE))
        files = _names_in(tmp_path)
    assert told == {name for name in served if not name.endswith("_created")}
    rows = table_rows(text_of("docs/operating.md"), "| file | what it is | if it is lost |")
    names = " ".join(name for name, *_ in rows)
    assert {each for each in files if each.removeprefix("homeostat.db") not in names} == set()
