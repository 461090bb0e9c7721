"""The option `-o` of all commands that list or show, and the forms for other programs: JSON, YAML, names, JSONPath."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

import click
import msgspec

from homeostat.cli.console.template import Template, TemplateError
from homeostat.objects import yaml
from homeostat.objects.json import JsonObject

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


TABLE: Final = "table"
_TABLES: Final = (TABLE, "wide")
_FORMS: Final = (*_TABLES, "json", "yaml", "name")
_JSONPATH: Final = "jsonpath="


class OutputForm(click.ParamType[str]):
    """`table`, `wide`, `json`, `yaml`, `name` or `jsonpath=TEMPLATE`."""

    name = "form"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value)
        if text.startswith(_JSONPATH):
            try:
                Template(text.removeprefix(_JSONPATH))
            except TemplateError as error:
                self.fail(f"{text!r}: {error}", param, ctx)
        elif text not in _FORMS:
            self.fail(f"{text!r} is not one of {', '.join(_FORMS)}, {_JSONPATH}TEMPLATE", param, ctx)
        return text

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        return [CompletionItem(each) for each in (*_FORMS, _JSONPATH) if each.startswith(incomplete)]


output_option = click.option(
    "-o",
    "--output",
    type=OutputForm(),
    default=TABLE,
    show_default=True,
    metavar="|".join([*_FORMS, f"{_JSONPATH}TEMPLATE"]),
    help="How to print.",
)
"""Of every command that lists or shows."""


def is_table(form: str) -> bool:
    """Whether people read it, and not another program."""
    return form in _TABLES


documents_option = click.option(
    "-o", "--output", type=click.Choice(["yaml", "json"]), default="yaml", show_default=True, help="How to print."
)
"""Of a command that prints objects for `kubectl apply`."""


def print_object(obj: JsonObject, form: str, *, is_first: bool = True) -> None:
    """`form` is one for programs. A YAML document that is not the first starts with a separator."""
    if form.startswith(_JSONPATH):
        _write(Template(form.removeprefix(_JSONPATH)).render(obj).encode())
        return
    match form:
        case "json":
            _write(msgspec.json.format(msgspec.json.encode(obj, order="sorted"), indent=4) + b"\n")
        case "yaml":
            _write((b"" if is_first else b"---\n") + yaml.dump(obj))
        case _:
            _write(f"{title(obj)}\n".encode())


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def print_objects(objects: Sequence[JsonObject], form: str) -> None:
    """As one list where `form` is json, as documents where it is yaml."""
    if form == "json":
        print_object(list_of(list(objects)), form)
        return
    for number, each in enumerate(objects):
        print_object(each, form, is_first=number == 0)


def title(obj: JsonObject) -> str:
    """`configmap/web`, `deployment.apps/web`."""
    group = obj.get("apiVersion", "").rpartition("/")[0]
    kind = str(obj.get("kind", "")).lower()
    return f"{kind}.{group}/{name_of(obj)}" if group else f"{kind}/{name_of(obj)}"


def name_of(obj: JsonObject) -> str:
    return str((obj.get("metadata") or {}).get("name", ""))


def print_list(
    objects: Sequence[JsonObject], form: str, *, is_single: bool = False, name: Callable[[JsonObject], str] = title
) -> None:
    """Print names, one a line, or one `List` in another form for programs, as `kubectl get` does. If `is_single`, print
    the only object itself instead of a list.
    """
    if form == "name":
        click.echo("".join(f"{name(each)}\n" for each in objects), nl=False)
    else:
        print_object(objects[0] if is_single else list_of(list(objects)), form)


def list_of(items: list[JsonObject]) -> JsonObject:
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": items}


def without_managed_fields(obj: JsonObject) -> JsonObject:
    return {**obj, "metadata": {key: value for key, value in obj["metadata"].items() if key != "managedFields"}}
