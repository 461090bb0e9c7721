"""Commands around the engine: contexts, prompts, editors, traces, completion, schemas, import."""

from __future__ import annotations

import json
import os
import pty
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from click.testing import CliRunner, Result

from homeostat.cli.main import main
from homeostat.operators.sync.context.bundle import SHIPPED, shipped
from tests.cli.running import HOMEOSTAT
from tests.operators.sync.cases import Rest, rest_server

_SECRET = "s3cr3t-value-42"
_KDF = {"time": 1, "memory": 64, "threads": 1}


@pytest.fixture(scope="module")
def rest() -> Iterator[Rest]:
    with rest_server() as server:
        yield server


class Home:
    """A directory with a catalog, a repository and a secret store."""

    def __init__(self, root: Path, url: str, **context: Any) -> None:
        self.root, self.repo = root, root / "repo"
        self.repo.mkdir()
        self.catalog = root / "contexts.yaml"
        self.environment = {
            "HOME": str(root),
            "DECLAREST_CONTEXTS_FILE": str(self.catalog),
            "XDG_RUNTIME_DIR": str(root),
        }
        auth = {"customHeaders": [{"header": "X-Key", "value": "key-of-the-server"}]}
        self.context: dict[str, Any] = {
            "name": "test",
            "repository": {"filesystem": {"baseDir": str(self.repo)}},
            "managedService": {"http": {"url": url, "auth": auth}},
            "secretStore": {"file": {"path": str(root / "s.json"), "passphrase": "pass-phrase-1", "kdf": _KDF}},
            **context,
        }
        self.write_catalog()

    def write_catalog(self, **more: Any) -> None:
        self.catalog.write_text(json.dumps({"currentContext": "test", "contexts": [self.context], **more}))

    def write(self, name: str, value: Any) -> None:
        (self.repo / name).parent.mkdir(parents=True, exist_ok=True)
        (self.repo / name).write_text(json.dumps(value))

    def run(self, *words: str, code: int = 0, given: str = "") -> Result:
        done = CliRunner().invoke(main, ["sync", *words], input=given, env=self.environment)
        assert done.exit_code == code, (words, done.output, done.exception)
        return done

    def edit(self, monkeypatch: pytest.MonkeyPatch, script: str, *words: str) -> None:
        """Run an edit command with a terminal on standard input; the editor is sed."""
        _, terminal = pty.openpty()
        with monkeypatch.context() as patch, os.fdopen(terminal) as stdin:
            patch.setattr(sys, "stdin", stdin)
            for name, value in self.environment.items():
                patch.setenv(name, value)
            main(["sync", *words, "--editor", f"sed -i {script}"], standalone_mode=False)


@pytest.fixture
def home(tmp_path: Path, rest: Rest) -> Home:
    rest.call("PUT", "/_/state", {"collections": {"/s": {}}})
    return Home(tmp_path, rest.url)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["no-such-command"], 1),
        (["resource", "no-such-command"], 1),
        (["resource", "get", "/s", "--no-such-flag"], 1),
        (["resource", "get"], 2),
        (["resource", "get", "relative"], 2),
        (["resource", "get", "/s/a", "-p", "/s/b"], 2),
        (["resource", "get", "/s/a"], 3),
        (["resource", "apply", "/s/a"], 3),
        (["resource", "delete", "/s/a"], 2),
        (["--context", "other", "resource", "get", "/s/a"], 3),
        (["resource", "edit", "/s/a"], 2),
        (["context", "edit"], 2),
        (["context", "clean"], 2),
        (["bundle", "show", "ftp://x"], 2),
        (["import"], 2),
    ],
    ids=str,
)
def test_each_kind_of_error_has_its_exit_code(home: Home, words: list[str], code: int) -> None:
    home.run(*words, code=code)


def test_a_command_that_only_reads_prints_its_error_in_the_form_of_all_commands(home: Home) -> None:
    assert "\nerror: no local resources found under /none" in home.run("plan", "/none", code=3).stderr


def test_a_context_is_prepared_and_its_catalog_written_in_one_form(home: Home) -> None:
    home.context |= {"repository": {"git": {"local": {"baseDir": str(home.root / "new")}}}}
    home.context |= {"metadata": {"baseDir": str(home.root / "meta")}}
    home.write_catalog()
    home.run("context", "init")
    assert {"new", "meta", "s.json"} <= {each.name for each in home.root.iterdir()}
    home.run("context", "migrate")
    assert home.catalog.read_text().startswith("currentContext: test\n")
    assert stat.S_IMODE(home.catalog.stat().st_mode) == 0o600


def test_a_catalog_as_input_brings_its_credentials(home: Home) -> None:
    more = {**home.context, "name": "more"}
    given = {"credentials": [{"name": "c", "username": "u", "password": "${P}"}], "contexts": [more]}
    home.run("context", "add", "-f", "-", "--set-current", given=json.dumps(given))
    found = yaml.safe_load(home.catalog.read_text())
    assert (found["currentContext"], found["credentials"]) == ("more", given["credentials"])
    home.run("context", "add", "-f", "-", given=json.dumps({"contexts": [more], "no": 1}), code=2)


def test_editors_change_contexts_documents_resources_and_defaults(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write("s/a/resource.json", {"id": "a", "v": 1})
    home.write(
        "s/_/metadata.yaml", {"resource": {"defaults": {"value": "{{include defaults.yaml}}", "mode": "inherit"}}}
    )
    home.write("s/_/defaults.yaml", {"size": 1})
    home.edit(monkeypatch, "s/test/test/;s/X-Key/X-Other/", "context", "edit")
    assert "X-Other" in home.catalog.read_text()
    home.edit(monkeypatch, "s/1/2/", "resource", "edit", "/s/a")
    assert json.loads((home.repo / "s/a/resource.json").read_text()) == {"id": "a", "v": 2}
    home.edit(monkeypatch, "s/1/7/", "resource", "defaults", "edit", "/s/")
    assert yaml.safe_load((home.repo / "s/_/defaults.yaml").read_text()) == {"size": 7}
    home.edit(monkeypatch, "s/{}/big:\\ 9/", "resource", "defaults", "profile", "edit", "/s/", "large")
    assert json.loads(home.run("resource", "defaults", "profile", "get", "/s/", "large").stdout) == {"big": 9}
    home.edit(monkeypatch, "s/inherit/replace/", "resource", "defaults", "config", "edit", "/s/")
    block = json.loads(home.run("resource", "defaults", "config", "get", "/s/").stdout)
    assert (block["mode"], block["profiles"]) == ("replace", {"large": {"big": 9}})
    home.run("resource", "defaults", "profile", "delete", "/s/", "large")
    home.run("resource", "defaults", "profile", "get", "/s/", "large", code=3)
    home.edit(monkeypatch, "s/replace/ignore/", "resource", "metadata", "edit", "/s/")
    assert "ignore" in (home.repo / "s/_/metadata.yaml").read_text()


def test_typed_credentials_are_kept_until_the_session_is_cleaned(home: Home) -> None:
    home.context["managedService"]["http"]["auth"] = {"basic": {"credentialsRef": {"name": "my-own"}}}
    asks = {"prompt": True, "persistInSession": True}
    home.write_catalog(credentials=[{"name": "my-own", "username": "ada", "password": asks}])
    home.environment["DECLAREST_PROMPT_AUTH_SESSION_ID"] = "one"
    failed = home.run("server", "get", "base-url", code=2)
    assert "DECLAREST_CONTEXT_CREDENTIAL_MY_OWN_PASSWORD" in failed.output
    assert _typed(home, _SECRET, "server", "get", "base-url") == 0
    (kept,) = (home.root / "declarest/prompt-auth").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    home.run("server", "get", "base-url")
    home.run("context", "clean", "--credentials-in-session")
    assert not kept.exists()
    home.run("server", "get", "base-url", code=2)
    home.environment["DECLAREST_CONTEXT_CREDENTIAL_MY_OWN_PASSWORD"] = "from-the-environment"
    home.run("server", "get", "base-url")
    for shell in ("bash", "zsh"):
        assert "DECLAREST_PROMPT_AUTH_SESSION_ID" in home.run("context", "session-hook", shell).stdout


def _typed(home: Home, text: str, *words: str) -> int:
    """The exit code of a command on a terminal of its own, with this text typed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(HOMEOSTAT, [HOMEOSTAT, "sync", *words], {**os.environ, **home.environment})
    seen = b""
    while b"password" not in seen:
        seen += os.read(terminal, 1024)
    os.write(terminal, f"{text}\n".encode())
    try:
        while more := os.read(terminal, 1024):
            seen += more
    except OSError:
        pass
    assert text.encode() not in seen
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_no_output_shows_a_secret(home: Home, rest: Rest) -> None:
    home.write("s/a/resource.json", {"id": "a", "note": "{{secret .}}", "list": [{"deep": "{{secret own}}"}], "v": 1})
    home.run("secret", "set", "/s/a:/note", _SECRET)
    home.run("secret", "set", "/s/a:own", f"{_SECRET}-own")
    shown = [home.run("resource", "apply", "/s/a", "-vvv")]
    rest.call("PUT", "/_/objects/s/a", {"id": "a", "note": _SECRET, "list": [{"deep": f"{_SECRET}-own"}], "v": _SECRET})
    commands = (
        ("diff", "/s/a", "-o", "text", "-vvv"),
        ("diff", "/s/a", "-o", "json", "--compare", "exact"),
        ("explain", "/s/a", "-o", "text"),
        ("explain", "/s/a", "-o", "yaml", "-vvv"),
        ("apply", "/s/a", "-vvv", "--force"),
    )
    shown += [home.run("resource", *words) for words in commands]
    fault = {"method": "PUT", "path": "/s/a", "status": 422, "body": f"{_SECRET} is weak", "times": 9}
    rest.call(
        "PUT", "/_/state", {"collections": {"/s": {}}, "objects": {"/s/a": {"id": "a", "v": 0}}, "faults": [fault]}
    )
    shown.append(home.run("resource", "apply", "/s/a", "-vvv", code=2))
    for each in shown:
        for word in (_SECRET, "key-of-the-server", "pass-phrase-1"):
            assert word not in each.output
    assert f"PUT {rest.url}/s/a -> 422" in shown[-1].stderr
    insecure = home.run("resource", "apply", "/s/a", "-vvv", "--verbose-insecure", code=2)
    assert _SECRET in insecure.stderr


def test_a_trace_hides_secrets_that_only_the_server_has(home: Home, rest: Rest) -> None:
    home.write("s/_/metadata.yaml", {"resource": {"secretAttributes": ["/inner/hash"]}})
    value = {"id": "a", "apiToken": _SECRET, "inner": {"hash": f"{_SECRET}-2"}}
    rest.call("PUT", "/_/state", {"collections": {"/s": {}}, "objects": {"/s/a": value}})
    done = home.run("resource", "get", "/s/a", "-vvv")
    assert _SECRET not in done.stderr
    assert "***" in done.stderr
    assert json.loads(done.stdout)["inner"]["hash"] == "{{secret .}}"


def test_a_server_is_imported_with_inferred_metadata_and_hidden_secrets(home: Home, rest: Rest) -> None:
    state = {
        "collections": {"/shops": {"id": "code"}, "/shops/north/tills": {}, "/shops/south/tills": {}},
        "objects": {
            "/shops/north": {"code": "north", "apiToken": _SECRET},
            "/shops/south": {"code": "south"},
            "/shops/north/tills/1": {"id": "1", "v": 1},
        },
    }
    rest.call("PUT", "/_/state", state)
    body = {"content": {"application/json": {"schema": {"type": "object", "properties": {"code": {}, "apiToken": {}}}}}}
    read = {"get": {"responses": {"200": body}}}
    paths = {
        "/shops": {"get": {}, "post": {}},
        "/shops/{code}": {**read, "put": {}},
        "/shops/{code}/tills": {"get": {}, "post": {}},
        "/shops/{code}/tills/{id}": {"get": {}, "put": {}},
    }
    (home.root / "api.json").write_text(json.dumps({"openapi": "3.0.0", "paths": paths}))
    home.context["managedService"]["http"]["openapi"] = str(home.root / "api.json")
    home.write_catalog()
    tried = json.loads(home.run("import", "--dry-run").stdout)
    assert list(home.repo.iterdir()) == []
    done = home.run("import")
    assert json.loads(done.stdout) == tried
    assert tried["resources"] == ["/shops/north", "/shops/north/tills/1", "/shops/south"]
    assert tried["secrets"] == ["/shops/north:/apiToken"]
    assert _SECRET not in done.output
    assert "/shops: 2 resources" in done.stderr
    assert json.loads((home.repo / "shops/north/resource.json").read_text())["apiToken"] == "{{secret .}}"
    assert home.run("secret", "get", "/shops/north:/apiToken").stdout == f"{_SECRET}\n"
    assert "No differences" in home.run("resource", "diff", "/", "-r", "-o", "text").stdout
    assert "pass --force" in home.run("import", code=2).output
    assert "more than 1 objects" in home.run("import", "--force", "--max-resources", "1", code=2).output
    home.run("import", "/shops/north/tills", "--force", "--full")


def test_paths_are_completed_from_the_repository_and_the_bundle(home: Home) -> None:
    home.context["metadata"] = {"bundle": "rabbitmq"}
    home.write_catalog()
    home.write("vhosts/shop/resource.json", {"name": "shop"})
    for typed, found in (
        ("/", ["/users", "/vhosts"]),
        ("/vhosts/sh", ["/vhosts/shop"]),
        ("/vhosts/shop/q", ["/vhosts/shop/queues"]),
    ):
        environment = {**home.environment, "_HOMEOSTAT_COMPLETE": "bash_complete", "COMP_CWORD": "4"}
        environment["COMP_WORDS"] = f"homeostat sync resource get {typed}"
        done = CliRunner().invoke(main, [], env=environment, prog_name="homeostat")
        assert [each.partition(",")[2] for each in done.stdout.splitlines()] == found
    for shell in ("bash", "zsh", "fish", "powershell"):
        assert "homeostat" in home.run("completion", shell).stdout


def test_schemas_accept_what_the_commands_accept(home: Home) -> None:
    schemas = {
        each: json.loads(home.run("schema", each).stdout) for each in ("context", "contexts", "metadata", "bundle")
    }
    jsonschema_rs.validate(schemas["context"], home.context)
    jsonschema_rs.validate(schemas["contexts"], json.loads(home.catalog.read_text()))
    for name in shipped():
        jsonschema_rs.validate(schemas["bundle"], yaml.safe_load((SHIPPED / name / "bundle.yaml").read_text()))
        for each in (SHIPPED / name).rglob("metadata.yaml"):
            jsonschema_rs.validate(schemas["metadata"], yaml.safe_load(each.read_text()))
        assert json.loads(home.run("bundle", "show", name).stdout)["manifest"]["name"] == name
