"""Flags of the commands, each with its aliases and its variable of the environment, in one table."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from homeostat.cli.main import main
from tests.operators.sync.cases import Rest, rest_server
from tests.operators.sync.test_console import Home

_GLOBAL = "-c --context -v --verbose --verbose-insecure -n --skip-result-message --ignore-warnings --no-color -o"
_FLAGS = {
    "resource get": "-p --path --source --exclude --prune-defaults --show-secrets --show-metadata --http-method",
    "resource list": "-p --path -r --source --exclude --http-method",
    "resource save": "-f --payload --content-type --mode --exclude --secret --allow-plaintext --secret-attributes "
    "--prune-defaults --force --push -m",
    "resource apply": "-r --force --refresh -f --http-method",
    "resource create": "-r --refresh -f --http-method",
    "resource update": "-r --refresh -f --http-method",
    "resource delete": "-y --yes -r --source --http-method -m",
    "resource diff": "-r --list --color",
    "resource explain": "-p",
    "resource describe": "-p",
    "resource edit": "--editor",
    "resource copy": "--target-path --override-attributes --force -m",
    "resource template": "-p",
    "resource request": "-f -H --accept-type --content-type --yes -r",
    "resource metadata get": "--overrides-only",
    "resource metadata set": "-f",
    "resource metadata unset": "-p",
    "resource metadata edit": "--editor",
    "resource metadata resolve": "-p",
    "resource metadata render": "",
    "resource metadata infer": "-a --apply",
    "resource defaults get": "",
    "resource defaults edit": "--editor",
    "resource defaults config get": "",
    "resource defaults config edit": "--editor",
    "resource defaults profile get": "",
    "resource defaults profile edit": "--editor",
    "resource defaults profile delete": "",
    "resource defaults infer": "--save --check --from --items --wait -y",
    **{f"repository {each}": "" for each in ("init", "refresh", "clean", "check", "status", "tree")},
    "repository reset": "--hard",
    "repository push": "--force-push",
    "repository commit": "-m",
    "repository history": "--max-count --author --grep --since --until --path --reverse --oneline",
    "secret init": "",
    **{f"secret {each}": "--path --key" for each in ("set", "store", "get", "delete")},
    "secret list": "-r",
    **{f"secret {each}": "-f" for each in ("mask", "resolve", "normalize")},
    "secret detect": "-f --fix --secret-attribute",
    "context add": "--payload --content-type --context-name --set-current",
    "context clean": "--credentials-in-session",
    "context resolve": "--set --show-secrets",
    **{f"context {each}": "--show-secrets" for each in ("list", "current", "show")},
    **{f"context {each}": "" for each in ("init", "edit", "update", "validate", "use", "rename", "delete", "check")},
    **{f"context {each}": "" for each in ("session-hook", "print-template", "migrate")},
    "server get": "",
    "server check": "",
    "completion": "",
    "version": "",
}


@pytest.fixture(scope="module")
def rest() -> Iterator[Rest]:
    with rest_server() as server:
        yield server


@pytest.fixture
def home(tmp_path: Path, rest: Rest) -> Home:
    rest.call("PUT", "/_/state", {"collections": {"/s": {}}, "objects": {"/s/a": {"id": "a"}}})
    found = Home(tmp_path, rest.url)
    found.context["managedService"]["http"]["defaultHeaders"] = {"X-Api-Key": "default-key-1"}
    found.write_catalog()
    found.write("s/a/resource.json", {"id": "a"})
    return found


def _command(words: str) -> click.Command:
    found: click.Command = main
    for word in ("sync", *words.split()):
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, words
        found = inner
    return found


def test_every_command_has_its_flags() -> None:
    for words, flags in _FLAGS.items():
        there = {each for parameter in _command(words).params for each in parameter.opts}
        assert there >= {*flags.split(), *_GLOBAL.split()}, words


_GET = ("resource", "get", "/s/a")
_OK, _WARNING = "[OK] command executed successfully.", "[WARNING]"


@pytest.mark.parametrize(
    ("words", "variables", "code", "has", "lacks"),
    [
        (_GET, {}, 0, ['"id": "a"', _WARNING], ["GET http"]),
        ((*_GET, "-o", "yaml"), {}, 0, ["id: a"], ['"id"']),
        (_GET, {"OUTPUT": "yaml"}, 0, ["id: a"], ['"id"']),
        ((*_GET, "-o", "json"), {"OUTPUT": "yaml"}, 0, ['"id": "a"'], []),
        (_GET, {"OUTPUT": "xml"}, 2, ["DECLAREST_OUTPUT"], []),
        ((*_GET, "-o", "xml"), {}, 2, ["xml"], []),
        ((*_GET, "--ignore-warnings"), {}, 0, [], [_WARNING]),
        (_GET, {"IGNORE_WARNINGS": "1"}, 0, [], [_WARNING]),
        (_GET, {"IGNORE_WARNINGS": "false"}, 0, [_WARNING], []),
        ((*_GET, "-vv"), {}, 0, ["GET http"], ["\n> "]),
        ((*_GET, "--verbose=2"), {}, 0, ["GET http"], ["\n> "]),
        (("--verbose", *_GET), {}, 0, ['"id": "a"'], ["GET http"]),
        (("resource", "get", "--verbose", "/s/a"), {}, 0, ['"id": "a"'], ["GET http"]),
        ((*_GET, "--verbose=4"), {}, 2, ["--verbose"], []),
        (_GET, {"VERBOSE": "2"}, 0, ["GET http"], []),
        (_GET, {"VERBOSE": "false"}, 0, [], ["GET http"]),
        ((*_GET, "--verbose=0"), {"VERBOSE": "3"}, 0, [], ["GET http"]),
        ((*_GET, "-d"), {}, 0, ["> X-Api-Key: ***"], ["default-key-1"]),
        ((*_GET, "-vvv", "--verbose-insecure"), {}, 0, ["default-key-1"], []),
        ((*_GET, "-vvv"), {"VERBOSE_INSECURE": "true"}, 0, ["default-key-1"], []),
        ((*_GET, "-vvv"), {"VERBOSE_INSECURE": "false"}, 0, [], ["default-key-1"]),
        (("resource", "apply", "/s/a"), {}, 0, [_OK], []),
        (("resource", "apply", "/s/a", "-n"), {}, 0, [], [_OK]),
        (("resource", "apply", "/s/a"), {"SKIP_RESULT_MESSAGE": "1"}, 0, [], [_OK]),
        (("resource", "apply", "/s/a"), {"NO_STATUS": "1"}, 0, [], [_OK]),
        (("resource", "apply", "/s/b"), {}, 3, ["[ERROR] command execution failed: "], []),
        (("resource", "apply", "/s/b", "-n"), {}, 3, [], ["[ERROR]"]),
        ((*_GET, "-c", "nobody"), {}, 3, ["nobody"], ["[ERROR]"]),
        (_GET, {"CONTEXT": "nobody"}, 3, ["nobody"], []),
        ((*_GET, "-c", "test"), {"CONTEXT": "nobody"}, 0, ['"id": "a"'], []),
        (("resource", "diff", "/s/a", "--color", "always"), {}, 0, ["No differences"], []),
        (("resource", "apply", "/s/b", "--color", "always"), {}, 3, ["\x1b["], []),
        (("resource", "apply", "/s/b", "--no-color"), {}, 3, [], ["\x1b["]),
        (("resource", "apply", "/s/b"), {"NO_COLOR": "1"}, 3, [], ["\x1b["]),
        (("repository", "tree", "-o", "json"), {}, 2, [], []),
        (("repository", "commit", "-m", "x"), {}, 2, [], []),
        (("repository", "history"), {}, 0, ["not supported"], []),
        (("repository", "status"), {}, 0, ["type=filesystem sync=not_applicable hasUncommitted=false"], []),
        (("context", "show", "-o", "json"), {}, 2, [], []),
        (("resource", "delete", "/s/a"), {}, 2, ["--yes"], []),
        (("resource", "copy", "/s/a", "/s/b"), {}, 0, ["declare the same object", _OK], []),
        (("resource", "copy", "/s/a", "/s/b", "--override-attributes", "/id=b"), {}, 0, [_OK], ["same object"]),
        (("version",), {}, 0, ['"version"', '"commit"', '"build_date"'], []),
    ],
    ids=str,
)
def test_a_flag_and_its_variable_do_the_same(
    home: Home, words: tuple[str, ...], variables: dict[str, str], code: int, has: list[str], lacks: list[str]
) -> None:
    home.environment |= {f"DECLAREST_{name}": value for name, value in variables.items()}
    output = home.run(*words, code=code).output
    assert [each for each in has if each not in output] == []
    assert [each for each in lacks if each in output] == []


def test_printed_contexts_mask_secrets_and_masks_are_refused_as_input(home: Home) -> None:
    home.environment["OF_THE_VAULT"] = "from-the-environment"
    http = home.context["managedService"]["http"]
    http |= {"defaultHeaders": {"X-Api-Key": "default-key", "Accept-Language": "en-GB"}}
    http["proxy"] = {
        "https": "http://me:proxy-word@proxy.example.com",
        "auth": {"username": "me", "password": "proxy-pw"},
    }
    home.context["secretStore"] = {"vault": {"address": "https://v", "auth": {"token": "${OF_THE_VAULT}"}}}
    home.write_catalog()
    hidden = ("key-of-the-server", "default-key", "proxy-word", "proxy-pw", "from-the-environment")
    for name in ("list", "current", "show", "resolve"):
        shown = home.run("context", name).output
        assert [each for each in hidden if each in shown] == []
        assert "en-GB" in shown
        assert name == "resolve" or "${OF_THE_VAULT}" in shown
        assert "key-of-the-server" in home.run("context", name, "--show-secrets").output
    masked = home.run("context", "show").stdout
    assert "--show-secrets" in home.run("context", "update", "-f", "-", given=masked, code=2).output
    whole = home.run("context", "show", "--show-secrets").stdout
    home.run("context", "update", "-f", "-", given=whole)
    assert "key-of-the-server" in home.catalog.read_text()


def test_a_terminal_is_asked_for_a_context(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    master, terminal = pty.openpty()
    os.write(master, f"{home.root}/new\nfilesystem\nhttps://api.example.com\nAPI_TOKEN\n".encode())
    with monkeypatch.context() as patch, os.fdopen(terminal, "r") as stdin:
        patch.setattr(sys, "stdin", stdin)
        for name, value in home.environment.items():
            patch.setenv(name, value)
        main(["sync", "context", "add", "asked"], standalone_mode=False)
    os.close(master)
    found = json.loads(home.run("-c", "asked", "context", "resolve", "--show-secrets").stdout)
    assert found["repository"] == {"filesystem": {"baseDir": f"{home.root}/new"}}
    assert "${API_TOKEN}" in home.catalog.read_text()


def test_local_commands_import_no_http_client(home: Home) -> None:
    script = "import sys; from homeostat.cli.main import main; main(sys.argv[1:], standalone_mode=False); "
    script += "assert not {'aiohttp', 'cryptography', 'tarfile'} & sys.modules.keys()"
    environment = {**os.environ, **home.environment}
    for words in (["version"], ["resource", "get", "/s/a", "--source", "repository"]):
        subprocess.run([sys.executable, "-c", script, "sync", *words], env=environment, check=True, timeout=60)
