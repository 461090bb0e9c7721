"""What commands show of secrets: nothing, unless they are asked to."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.operators.sync.cases import Case, Rest, rest_server
from tests.operators.sync.test_commands import STORE, step

J = json.dumps
_HIDDEN = "{{secret .}}"
_REMOTE = {"id": "x", "pin": "pin-of-the-server"}
_ITEMS = {
    "/s/a": {"id": "a", "password": "pw-of-a"},
    "/s/b": {"id": "b", "apiToken": "token-of-b"},
    "/s/c": {"id": "c"},
}


@pytest.fixture(scope="module")
def rest() -> Iterator[Rest]:
    with rest_server() as server:
        yield server


CASES: dict[str, dict[str, Any]] = {
    "an object that is secret as a whole is never shown": {
        "context": STORE,
        "files": {"j/_/metadata.yaml": "resource: {secret: true}\n"},
        "server": {
            "collections": {"/j": {}},
            "objects": {"/j/x": _REMOTE},
            "faults": [{"method": "PUT", "path": "/j/x", "status": 422, "body": '{"bad": "pin-of-the-server"}'}],
        },
        "never": ["pin-of-the-server", "pin-by-hand"],
        "steps": [
            step("resource", "save", "/j/x", "-vvv"),
            step("resource", "get", "/j/x", "-vvv", stdout={"json": _HIDDEN}),
            step("resource", "list", "/j", stdout={"json": [_HIDDEN]}),
            step("resource", "get", "/j/x", "--show-secrets", stdout={"json": _REMOTE}, shows=True),
            step(
                "resource",
                "get",
                "/j/x",
                "--source",
                "repository",
                "--show-secrets",
                stdout={"json": _REMOTE},
                shows=True,
            ),
            step("resource", "diff", "/j/x", server=[["PUT", "/j/x", {"id": "x", "pin": "pin-by-hand"}]]),
            step("resource", "explain", "/j/x"),
            step("plan", "/j", "-r", code=7),
            step("plan", "/j", "-r", "-o", "markdown", code=7),
            step("resource", "apply", "/j/x", code=2, says=["***"]),
            step("resource", "apply", "/j/x", "-vvv", writes=[{"method": "PUT", "path": "/j/x", "body": _REMOTE}]),
        ],
        "expect": {"objects": {"/j/x": _REMOTE}, "files": {"j/x/resource.json": J(_HIDDEN)}},
    },
    "secrets of a saved list are declared once, for the collection": {
        "context": STORE,
        "server": {"collections": {"/s": {}}, "objects": _ITEMS},
        "never": ["pw-of-a", "token-of-b"],
        "steps": [
            step("resource", "save", "/s/", code=2, says=["/password"]),
            step("resource", "save", "/s/", "--secret-attributes"),
            step("secret", "list", stdout={"json": ["/s/a:/password", "/s/b:/apiToken"]}),
            step("resource", "diff", "/s", "-r", says=["No differences"]),
            step("resource", "save", "/s/", "--force"),
        ],
        "expect": {
            "objects": _ITEMS,
            "files": {
                "s/_/metadata.yaml": "resource: {secretAttributes: [/apiToken, /password]}",
                "s/a/resource.json": J({"id": "a", "password": _HIDDEN}),
                "s/b/resource.json": J({"id": "b", "apiToken": _HIDDEN}),
                "s/c/resource.json": J({"id": "c"}),
            },
        },
    },
    "an attribute with a placeholder is hidden on the server, too": {
        "context": STORE,
        "files": {
            "s/_/metadata.yaml": "resource: {secretAttributes: [/code]}\n",
            "s/a/resource.json": J({"id": "a", "other": "{{secret named}}", "code": "code-in-the-file"}),
        },
        "server": {"collections": {"/s": {}}, "objects": {"/s/a": {"id": "a", "other": "other-by-hand"}}},
        "never": ["other-by-hand", "code-in-the-file"],
        "steps": [
            step("resource", "get", "/s/a", stdout={"json": {"id": "a", "other": _HIDDEN}}),
            step("resource", "get", "/s/", stdout={"json": [{"id": "a", "other": _HIDDEN}]}),
            step(
                "resource",
                "get",
                "/s/a",
                "--source",
                "repository",
                stdout={"json": {"id": "a", "other": "{{secret named}}", "code": _HIDDEN}},
            ),
            step("resource", "get", "/s/a", "--source", "repository", "--show-secrets", code=3, says=["s/a:named"]),
        ],
        "expect": {"objects": {"/s/a": {"id": "a", "other": "other-by-hand"}}},
    },
    "without a store no secret can be shown": {
        "files": {"s/a/resource.json": J({"id": "a", "pw": _HIDDEN})},
        "steps": [
            step("resource", "get", "/s/a", "--source", "repository", stdout={"json": {"id": "a", "pw": _HIDDEN}}),
            step("resource", "get", "/s/a", "--source", "repository", "--show-secrets", code=2, says=["secretStore"]),
        ],
        "expect": {"objects": {}},
    },
    "traces mask bodies in every format and parameters of addresses": {
        "context": STORE,
        "files": {
            "y/_/metadata.yaml": "resource: {format: yaml}\noperations: {get: {query: {api_key: key-in-the-query}}}\n",
            "y/a/resource.yaml": "id: a\nother: '{{secret .}}'\n",
        },
        "server": {"collections": {"/y": {"raw": True, "upsert": True}}, "objects": {}},
        "never": ["other-secret", "key-in-the-query"],
        "files_free": True,
        "steps": [
            step("secret", "set", "/y/a:/other", "other-secret"),
            step(
                "resource",
                "update",
                "/y/a",
                "-vvv",
                says=["other: '***'"],
                writes=[
                    {
                        "method": "PUT",
                        "path": "/y/a",
                        "body": {"text": "id: a\nother: other-secret\n"},
                    }
                ],
            ),
            step("resource", "get", "/y/a", "-vvv", "--source", "managed-service", says=["api_key=***"], shows=True),
        ],
        "expect": {
            "objects": {
                "/y/a": {
                    "type": "application/yaml",
                    "text": "id: a\nother: other-secret\n",
                }
            }
        },
    },
}


@pytest.mark.parametrize("name", CASES)
def test_nothing_secret_is_shown(name: str, rest: Rest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Case(CASES[name], tmp_path, rest).run() == []
