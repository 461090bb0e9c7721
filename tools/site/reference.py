"""Pages made from the code: every command, every kind of the operators, and the tables of metrics and variables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from homeostat.cli.group import LazyGroup
from homeostat.cli.main import main
from homeostat.cli.operators.choice import described_operators
from homeostat.objects.json import JsonObject
from tools.provision import ROOT
from tools.site.staging import relinked

_DEEPEST = 12


def write(folder: Path) -> None:
    """Write all pages of the reference into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in (
        ("commands", commands()),
        ("kinds", kinds()),
        ("metrics", _gathered("Metrics", "| metric", "What planes, operators and faces report on `/metrics`.")),
        ("variables", _gathered("Variables", "| variable", "What the programs read from the environment.")),
    ):
        (folder / f"{name}.md").write_text(text, "utf-8")


def commands() -> str:
    text = "# Commands\n\nWhat `--help` prints, for every command.\n"
    for path, command in _commands("homeostat", main):
        context = click.Context(command, info_name=path, max_content_width=110, terminal_width=110)
        level = "#" * min(path.count(" ") + 2, 4)
        text += f"\n{level} {path}\n\n```text\n{click.unstyle(command.get_help(context)).rstrip()}\n```\n"
    return text


def kinds() -> str:
    """A table of fields for each kind, from the definitions as `homeostat crds` prints them."""
    text = (
        "# Kinds\n\nThe fields of the operators' kinds. `homeostat explain KIND.FIELD` prints the same from a server.\n"
    )
    for name, operator in described_operators("all").items():
        definitions = operator.definitions()
        text += f"\n## {name}\n" if definitions else ""
        for definition in definitions:
            text += _kind(definition)
    return text


def _commands(path: str, command: click.Command) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=path)
        names = command.list_commands(context) if isinstance(command, LazyGroup) else sorted(command.commands)
        for name in names:
            if (found := command.get_command(context, name)) is not None and not found.hidden:
                yield from _commands(f"{path} {name}", found)


def _kind(definition: JsonObject) -> str:
    spec: Any = definition["spec"]
    text = f"\n### {spec['names']['kind']}\n\n"
    for version in spec["versions"]:
        schema = version["schema"]["openAPIV3Schema"]
        text += f"`{spec['group']}/{version['name']}`, {spec['scope'].lower()}.\n\n"
        text += "| field | type | |\n|---|---|---|\n"
        for part in ("spec", "status"):
            for path, kind, about in _fields(part, schema.get("properties", {}).get(part, {}), 0):
                text += f"| `{path}` | {kind} | {about} |\n"
    return text


def _fields(path: str, schema: Any, depth: int) -> Iterator[tuple[str, str, str]]:
    if depth > _DEEPEST:
        return
    for name, field in schema.get("properties", {}).items():
        here = f"{path}.{name}"
        is_required = name in schema.get("required", ())
        yield here, _type(field) + (", required" if is_required else ""), _about(field)
        inner = field.get("items") if field.get("type") == "array" else field
        values = field.get("additionalProperties")
        suffix = "[]" if field.get("type") == "array" else ""
        yield from _fields(here + suffix, inner or {}, depth + 1)
        if isinstance(values, dict):
            yield from _fields(f"{here}.KEY", values, depth + 1)


def _type(field: Any) -> str:
    kind = str(field.get("type") or ("integer or string" if field.get("x-kubernetes-int-or-string") else "any"))
    if kind == "array":
        return f"list of {_type(field.get('items') or {})}"
    return kind


def _about(field: Any) -> str:
    parts = [str(field["description"])] if "description" in field else []
    if "enum" in field:
        parts.append("one of " + ", ".join(f"`{value}`" for value in field["enum"]))
    if "default" in field:
        parts.append(f"default `{field['default']}`")
    return _cell("; ".join(parts))


def _cell(text: str) -> str:
    return text.replace("\n", " ").replace("|", "\\|").replace("<", "&lt;")


def _gathered(title: str, header: str, about: str) -> str:
    """The tables under such a header, from all pages; the tests hold them to what the code has."""
    text = f"# {title}\n\n{about}\n"
    for path in sorted((ROOT / "docs").glob("*.md")):
        for heading, table in _tables(path.read_text("utf-8"), header):
            source = f"docs/{path.name}"
            text += f"\n## {heading}\n\nFrom [{path.stem}](../{path.name}).\n\n"
            text += relinked(table, source, "reference/page.md")
    return text


def _tables(text: str, header: str) -> Iterator[tuple[str, str]]:
    heading, table = "", ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if table or line.startswith(header):
            if line.startswith("|"):
                table += line + "\n"
                continue
            yield heading, table
            table = ""
