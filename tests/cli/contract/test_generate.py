"""`homeostat contract generate`: plugins as real programs, and the built-in one."""

from __future__ import annotations

import json

import pytest

from homeostat.cli.contract.generation import plugin
from tests.cli.contract.workspace import Workspace

CONTRACT = 'pactoVersion: "1.2"\nservice: {name: mill, version: 1.0.0}\n'


@pytest.fixture
def mill(bare: Workspace) -> Workspace:
    bare.write({"mill/pacto.yaml": CONTRACT, "mill/notes.txt": "of the bundle"})
    return bare


def _plugin(space: Workspace, name: str, script: str) -> None:
    space.write({f"bin/pacto-plugin-{name}": f"#!/bin/sh\n{script}\n"})


def test_the_answer_is_written_and_counted(mill: Workspace) -> None:
    answer = '{"files":[{"path":"a"},{"path":"b/c","content":"x"}],"message":"m"}'
    _plugin(mill, "two", f"cat > in.json; printf '{answer}'")
    done = mill.run("generate", "two", "mill", "-o", "out", "--option", "k=v=w", "--output-format", "json")
    assert done.json == {"plugin": "two", "outputDir": "out", "filesCount": 2, "message": "m"}
    assert (mill.directory / "out/b/c").read_text() == "x"
    assert '"options":{"k":"v=w"}' in (mill.directory / "in.json").read_text()


def test_a_plugin_of_the_users_configuration_is_found(mill: Workspace) -> None:
    path = mill.home / ".config/pacto/plugins/pacto-plugin-own"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\nprintf '{}'\n")
    path.chmod(0o755)
    assert mill.run("generate", "own", "mill").out == "Generated 0 file(s) using own\nOutput: own-output/\n"


def test_a_bundle_of_a_registry_is_unpacked_for_the_plugin(space: Workspace) -> None:
    space.push("c/mill:1.0.0", {"pacto.yaml": CONTRACT, "notes.txt": "of the bundle"})
    find = """dir=$(sed 's/.*"bundleDir":"\\([^"]*\\)".*/\\1/')"""
    script = f"""{find}; printf '{{"files":[{{"path":"n","content":"'"$(cat $dir/notes.txt)"'"}}]}}'"""
    _plugin(space, "read", script)
    assert space.run("generate", "read", f"oci://{space.registry}/c/mill").code == 0
    assert (space.directory / "read-output/n").read_text() == "of the bundle"


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo broken >&2; exit 3", "plugin pacto-plugin-bad failed: broken"),
        ("exit 3", "it exited with 3 and said nothing"),
        ("echo no json", "is not the expected JSON"),
        ("""printf '{"files":[{"path":"/etc/x"}]}'""", "escapes output directory"),
        ("""printf '{"files":[{"path":"a/../../x"}]}'""", "escapes output directory"),
        ("""printf '{"files":[{"path":"link/x"}]}'""", "is a link"),
    ],
)
def test_a_plugin_that_fails_writes_nothing(mill: Workspace, script: str, says: str) -> None:
    _plugin(mill, "bad", script)
    (mill.directory / "elsewhere").mkdir()
    (mill.directory / "bad-output").mkdir()
    (mill.directory / "bad-output/link").symlink_to(mill.directory / "elsewhere")
    done = mill.run("generate", "bad", "mill")
    assert (done.code, says in done.err) == (1, True), done.err
    assert list((mill.directory / "elsewhere").iterdir()) == []


def test_a_plugin_has_limits(mill: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugin, "TIMEOUT_S", 0.3)
    monkeypatch.setattr(plugin, "MAX_ANSWER_BYTES", 1000)
    _plugin(mill, "slow", "sleep 60")
    assert "timed out after 0.3 s" in mill.run("generate", "slow", "mill").err
    _plugin(mill, "loud", "yes")
    assert "printed more than 1000 bytes" in mill.run("generate", "loud", "mill").err


@pytest.mark.parametrize(("name", "says"), [("none", "there is no plugin"), ("../x", "is not the name of a plugin")])
def test_an_unknown_plugin_is_a_failure(mill: Workspace, name: str, says: str) -> None:
    done = mill.run("generate", name, "mill")
    assert (done.code, says in done.err) == (1, True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"port": 80, "on": true, "at": "2026-01-01", "in": {"x": [1.5]}}'),
        ("a.yaml", "port: 80\non: true\nat: '2026-01-01'\nin: {x: [1.5]}\n"),
        ("a.toml", "port = 80\non = true\nat = 2026-01-01\n[in]\nx = [1.5]\n"),
    ],
)
def test_a_schema_is_inferred_from_a_sample(mill: Workspace, name: str, text: str) -> None:
    mill.write({f"mill/{name}": text})
    done = mill.run("generate", "schema-infer", "mill", "--option", f"file={name}", "-o", "out")
    assert done.code == 0, done.err
    schema = json.loads((mill.directory / "out/schema.json").read_text())
    assert schema["required"] == ["at", "in", "on", "port"]
    assert schema["additionalProperties"] is False
    kinds = {key: each["type"] for key, each in schema["properties"].items()}
    assert kinds == {"port": "integer", "on": "boolean", "at": "string", "in": "object"}


@pytest.mark.parametrize("options", [(), ("--option", "file=none.yaml"), ("--option", "file=mill/notes.txt")])
def test_a_sample_that_cannot_be_used_is_a_failure(mill: Workspace, options: tuple[str, ...]) -> None:
    assert mill.run("generate", "schema-infer", "mill", *options).code == 1


def test_a_program_replaces_the_built_in_plugin(mill: Workspace) -> None:
    _plugin(mill, "schema-infer", """printf '{"message":"mine"}'""")
    assert "Message: mine" in mill.run("generate", "schema-infer", "mill").out
