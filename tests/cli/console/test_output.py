"""Every command that lists or shows takes the same forms."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click
import pytest

from homeostat.cli.console.output import OutputForm
from homeostat.cli.main import main
from tests.cli.running import Up

LISTS = {
    ("api-resources",),
    ("get",),
    ("plan",),
    ("policy", "bundles"),
    ("policy", "contexts"),
    ("resource", "history"),
    ("resource", "list"),
    ("resource", "outputs"),
    ("resource", "show"),
    ("token", "list"),
    ("type", "list"),
    ("type", "show"),
}


def commands(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from commands(command, *path, name)
        else:
            yield (*path, name), command


def test_every_list_takes_the_same_forms() -> None:
    found = {path for path, each in commands(main) if any(isinstance(param.type, OutputForm) for param in each.params)}
    assert found >= LISTS


LISTING = {"list", "get", "status", "history", "show", "outputs", "bundles", "contexts", "pods", "top", "api-resources"}
OF_ORIGINALS = {"sync", "contract"}
"""Their commands take the forms of the programs that they replace."""


def test_whatever_is_called_a_list_takes_them() -> None:
    found = dict(commands(main))
    lists = {path for path in found if path[-1] in LISTING and path[0] not in OF_ORIGINALS}
    assert len(lists) > 10
    without = {path for path in lists if not any(isinstance(param.type, OutputForm) for param in found[path].params)}
    assert without == set()


@pytest.mark.parametrize(
    ("words", "forms"),
    [
        (("get", "ns", "default"), {"name": "namespace/default\n", "jsonpath={.metadata.name}": "default"}),
        (("api-resources", "--api-group", "apps"), {"jsonpath={.items[1].kind}": "DaemonSet"}),
        (("token", "list"), {"name": "", "jsonpath={.kind}": "List"}),
    ],
)
def test_a_list_is_printed_in_every_form(up: Up, words: tuple[str, ...], forms: dict[str, str]) -> None:
    for form in ("table", "wide", "json", "yaml", "name"):
        assert up.cli.here(*words, "-o", form).code == 0
    usual, table = (_without_ages(up.cli.here(*words, *more).out) for more in ((), ("-o", "table")))
    assert usual == table
    for form, text in forms.items():
        assert up.cli.here(*words, "-o", form).out == text


def _without_ages(text: str) -> str:
    """A second may pass between two commands."""
    return re.sub(r"\b\d+s\b", "-", text)
