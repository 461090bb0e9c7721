"""The reference of the runtime, and the tables about operators, say what the code has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from inspect import getsource
from pathlib import Path

import pytest

from homeostat.objects.kind import CONFIG_MAP
from homeostat.operators.catalog import load_operator
from homeostat.plane import Settings, open_plane
from homeostat.runtime.control import controller
from homeostat.runtime.installation import install
from homeostat.runtime.manager import Manager
from homeostat.runtime.telemetry.settings import TelemetrySettings
from homeostat.testing.eventually import eventually
from tests.docs.documents import EXAMPLES, table_rows, text_of
from tests.docs.signatures import look_up, signature_of

_RUNTIME, _OPERATORS = text_of("docs/runtime.md"), text_of("docs/running-operators.md")
_modules = re.compile(r"^\| `(homeostat[\w.]+)` \| what for \|$")
_codes = re.compile(r"`([^`]+)`")
_samples = re.compile(r"^(\w+?)(?:_bucket|_sum|_count)?(?:\{(.*)\})? ", re.MULTILINE)
_labels = re.compile(r'(\w+)="')


def _told() -> Iterator[tuple[str, str]]:
    """Each name of the reference with its module."""
    module = ""
    for line in _RUNTIME.splitlines():
        if header := _modules.match(line):
            module = header[1]
        elif not line.startswith("|"):
            module = ""
        elif module and not line.startswith("|---"):
            yield from ((module, code) for code in _codes.findall(line.split(" | ")[0]))


@pytest.mark.parametrize(
    "module", ["homeostat.sdk", "homeostat.sdk.plugins", "homeostat.sdk.standalone", "homeostat.testing"]
)
def test_every_public_name_is_in_the_reference_and_every_name_there_is_public(module: str) -> None:
    told = {name.partition("(")[0].partition(".")[0] for of, name in _told() if of == module}
    assert told == set(import_module(module).__all__)


@pytest.mark.parametrize(("module", "told"), list(_told()), ids=lambda each: each.partition("(")[0])
def test_every_name_of_the_reference_is_there_and_called_so(module: str, told: str) -> None:
    name, has_parameters, _ = told.partition("(")
    look_up(module, name)
    assert not has_parameters or told == signature_of(module, name)


def test_the_table_of_ends_is_the_controllers_own() -> None:
    table = [line for line in (controller.__doc__ or "").splitlines() if line.startswith("|")]
    assert "\n".join(table) in _RUNTIME


async def test_every_documented_metric_of_operators_is_served_and_every_served_one_documented(tmp_path: Path) -> None:
    rows = table_rows(_OPERATORS, "| metric of operators | labels | what |")
    told = {name: set(_codes.findall(f"`{labels}`")) if labels else set() for name, labels, _ in rows}
    greeter = load_operator(str(EXAMPLES / "greeter" / "greeter.py"))
    async with open_plane(Settings(data=tmp_path, port=0, operators=frozenset())) as plane:
        await install(plane.client, greeter.KINDS)
        await plane.client.create(CONFIG_MAP.path("default"), {"metadata": {"name": "looked-at"}})
        manager = Manager(plane.client, leases="default")
        manager.add("greeter", greeter.register)
        async with manager.running():
            text = await eventually(
                lambda: manager.metrics.text().decode(), lambda text: "homeostat_reconcile_seconds_sum" in text
            )
    assert told == _served(text)


def _served(text: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, labels in _samples.findall(re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        found.setdefault(name, set()).update(set(_labels.findall(labels)) - {"le"})
    return found


def test_every_documented_outcome_is_one_of_a_reconciliation() -> None:
    told = {name for name, _ in table_rows(_OPERATORS, "| outcome | what |")}
    source = getsource(controller)
    assert told == {*re.findall(r'return "(\w+)"', source), *re.findall(r'reconciled\(self\.name, "(\w+)"', source)}


class _Remembering(dict[str, str]):
    """An environment that knows what it was asked for."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def get(self, key: str, default: str = "") -> str:  # type: ignore[override]
        self.asked.add(key)
        return super().get(key, default)


def test_every_documented_otel_variable_is_read_and_every_one_read_is_documented() -> None:
    rows = table_rows(_OPERATORS, "| variable | what |")
    environ = _Remembering({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318", "OTEL_TRACES_SAMPLER": "traceidratio"})
    TelemetrySettings.of(environ)
    assert {code for name, _ in rows for code in _codes.findall(f"`{name}`")} == environ.asked
