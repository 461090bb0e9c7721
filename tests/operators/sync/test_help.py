"""Every example in the help of `homeostat sync` works, where what it names is there."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest

from homeostat.cli.main import main
from tests.operators.sync.cases import Case, Rest, rest_server

J = json.dumps
_ACME, _BETA = {"id": "acme", "apiToken": "token-of-acme", "tier": 1}, {"id": "beta", "tier": 1}
_SCHEMA = {"type": "object", "properties": {"id": {"type": "string"}}}
_LISTED = {"200": {"content": {"application/json": {"schema": {"type": "array", "items": _SCHEMA}}}}}
_OPENAPI = {
    "openapi": "3.0.0",
    "paths": {
        "/customers": {"get": {"responses": _LISTED}, "post": {"responses": {}}},
        "/customers/{id}": {each: {"responses": {}} for each in ("get", "put", "delete")},
    },
}
_CONTEXT = {"repository": {"filesystem": {"baseDir": "$ROOT/repo"}}}
_CASE: dict[str, Any] = {
    "files": {
        "customers/_/metadata.yaml": "resource: {secretAttributes: [/apiToken], defaults: {profiles: {big: {n: 9}}}}\n",
        "customers/acme/resource.json": J({**_ACME, "apiToken": "{{secret .}}"}),
        "customers/beta/resource.json": J(_BETA),
    },
    "outside": {
        "openapi.json": J(_OPENAPI),
        "acme.json": J(_ACME),
        "customer.json": J(_ACME),
        "masked.json": J({"apiToken": "{{secret .}}"}),
        "metadata.yaml": "resource: {alias: /id}\n",
        "context.yaml": J({"name": "added", **_CONTEXT}),
    },
    "context": {
        "managedService": {"http": {"healthCheck": "/customers", "openapi": "$ROOT/openapi.json"}},
        "secretStore": {
            "file": {"path": "$ROOT/s.json", "passphrase": "pass-1", "kdf": {"time": 1, "memory": 64, "threads": 1}}
        },
    },
    "server": {
        "collections": {"/customers": {}, "/users": {}, "/vhosts": {}},
        "objects": {"/customers/acme": _ACME, "/customers/beta": _BETA, "/users/guest": {"id": "guest"}},
    },
}
_NEEDS_TERMINAL = 2
_ELSEWHERE = ("oci://registry.example.org", "--from managed-service", "source <(", "$PROFILE", "get access-token")
"""A registry, two seconds of waiting, and shells."""


def _examples(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from _examples(inner, (*words, name))
        return
    lines = [each.strip() for each in (command.help or "").partition("Examples:")[2].splitlines() if each.strip()]
    assert lines, f"{' '.join(words)} has no examples"
    yield from ((words, each) for each in lines)


def _all() -> list[tuple[tuple[str, ...], str]]:
    group = main.get_command(click.Context(main), "sync")
    assert group is not None
    return list(_examples(group, ("sync",)))


@pytest.fixture(scope="module")
def rest() -> Iterator[Rest]:
    with rest_server() as server:
        yield server


def _prepared(words: tuple[str, ...], example: str, root: Path, rest: Rest) -> Case:
    case = json.loads(J(_CASE))
    if words[1] == "import" or words[1:] == ("resource", "save"):
        case["files"] = {"customers/_/metadata.yaml": case["files"]["customers/_/metadata.yaml"]}
    if words[1:] == ("resource", "create") or " post " in example:
        del case["server"]["objects"]["/customers/acme"]
    if words[1:] == ("context", "update"):
        case["outside"]["context.yaml"] = J({"name": "production", **_CONTEXT})
    if words[1] == "repository":
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(root / "remote")], check=True)
        case["git"] = True
        case["context"]["repository"] = {"git": {"remote": {"url": f"{root}/remote", "branch": "main"}}}
    (root / "repo").parent.mkdir(exist_ok=True)
    found = Case(case, root, rest)
    found.prepare()
    catalog = json.loads((root / "contexts.yaml").read_text())
    catalog["contexts"] += [{"name": each, **found.fill(_CONTEXT)} for each in ("production", "old")]
    (root / "contexts.yaml").write_text(J(catalog))
    return found


def _run(case: Case, line: str) -> tuple[int, bytes, bytes]:
    line = line.removeprefix('eval "$(').removesuffix(')"').partition(" > ")[0]
    words = shlex.split(line)
    assert words[:1] == ["homeostat"], line
    given = words[2:] if words[1] == "sync" else words[1:]
    return case.invoke({"args": given})


def test_every_example_works(rest: Rest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    wrong = list[str]()
    for number, (words, example) in enumerate(_all()):
        if any(each in example for each in _ELSEWHERE):
            continue
        root = tmp_path / str(number)
        root.mkdir()
        monkeypatch.chdir(root)
        case = _prepared(words, example, root, rest)
        for key in ("apiToken", "/customers/acme:/apiToken"):
            if words[1] in ("secret", "resource", "plan", "apply-plan", "prune"):
                _run(case, f"homeostat sync secret set {key} token-of-acme")
        if words[1] == "apply-plan":
            _run(case, "homeostat sync plan /customers -r --out plan.json")
        if words[-1] in ("refresh", "reset"):
            _run(case, "homeostat sync repository push")
        code, _, err = _run(case, example)
        if code != (_NEEDS_TERMINAL if words[-1] == "edit" else 0):
            wrong.append(f"{example}: {code} {err.decode()[-300:]}")
    assert wrong == []
