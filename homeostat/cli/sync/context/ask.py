"""Asks a person on the terminal for a context: its name, its directory, its server.

Nobody types a secret here: the context names the variable of the environment that holds it.
"""

from __future__ import annotations

import click

from homeostat.objects.json import JsonObject


def asked_context(name: str | None) -> JsonObject:
    name = name or _asked("Name of the context")
    directory = _asked("Directory of the repository")
    kind = _asked("Kind of the repository", choices=("git", "filesystem"), default="git")
    repository = {"git": {"local": {"baseDir": directory}}} if kind == "git" else {kind: {"baseDir": directory}}
    context: JsonObject = {"name": name, "repository": repository}
    if url := _asked("Address of the managed server (empty for none)", default=""):
        context["managedService"] = {"http": {"url": url, "auth": _auth()}}
    return context


def _auth() -> JsonObject:
    variable = _asked("Variable with the value of its Authorization header (empty for none)", default="")
    if not variable:
        return {"none": {}}
    return {"customHeaders": [{"header": "Authorization", "value": f"${{{variable.strip('${}')}}}"}]}


def _asked(text: str, *, default: str | None = None, choices: tuple[str, ...] | None = None) -> str:
    kind = click.Choice(choices) if choices else None
    return str(click.prompt(text, default=default, type=kind, show_default=bool(default), err=True)).strip()
