"""Bundles, registries and files that misbehave: one clear message, and nothing written where it does not belong."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest

from homeostat.external.oci.bundle import pack_bundle
from tests.cli.contract.workspace import Workspace

MILL = 'pactoVersion: "1.0"\nservice: {name: mill, version: 1.1.0}\n'


def _tar(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        for path, data in (("pacto.yaml", MILL.encode()), (name, b"")):
            member = tarfile.TarInfo(path)
            member.size = len(data)
            if path == name:
                member.type, member.linkname = kind, target
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


LAYERS = {
    "slip": (_tar("../evil"),),
    "absolute": (_tar("/tmp/evil-of-a-test"),),
    "link": (_tar("evil", tarfile.SYMTYPE, "/etc/passwd"),),
    "bomb": (gzip.compress(bytes(120 << 20)),),
    "two layers": (pack_bundle({"pacto.yaml": MILL.encode()}),) * 2,
    "no contract": (pack_bundle({"a": b""}),),
    "not gzip": (b"hello",),
}


@pytest.mark.parametrize("case", LAYERS)
def test_a_hostile_bundle_is_refused_and_nothing_is_written(space: Workspace, case: str) -> None:
    space.push_layers("evil:1.0.0", *LAYERS[case])
    ref = f"oci://{space.registry}/evil"
    for command in (("pull", ref), ("validate", ref), ("graph", ref), ("diff", ref, ref)):
        found = space.run(*command)
        assert found.code == 1
        assert space.registry in found.err
        assert "Traceback" not in found.err
    assert list(space.directory.iterdir()) == []
    assert not Path("/tmp/evil-of-a-test").exists()


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil-of-a-test", ".", "..", "a/b", "-x", "a\nb"])
def test_the_name_of_a_service_is_no_path_to_write_to(space: Workspace, name: str) -> None:
    text = f'pactoVersion: "1.0"\nservice: {{name: {name!r}, version: 1.0.0}}\n'.replace("'a\\nb'", '"a\\nb"')
    space.push("evil:1.0.0", {"pacto.yaml": text})
    found = space.run("pull", f"oci://{space.registry}/evil")
    assert (found.code, "-o" in found.err) == (1, True)
    assert list(space.directory.iterdir()) == []
    assert space.run("pull", f"oci://{space.registry}/evil", "-o", "safe").code == 0


def test_a_pull_does_not_write_through_links(space: Workspace) -> None:
    space.push("m:1.0.0", {"pacto.yaml": MILL, "docs/a.md": "new"})
    Path("outside").mkdir()
    Path("victim").write_text("old")
    for link, target in (("a/docs", "../outside"), ("b/docs/a.md", "../../victim")):
        Path(link).parent.mkdir(parents=True)
        Path(link).symlink_to(target)
    for directory in ("a", "b"):
        found = space.run("pull", f"oci://{space.registry}/m", "-o", directory)
        assert (found.code, "is a link" in found.err) == (1, True)
    assert list(Path("outside").iterdir()) == []
    assert Path("victim").read_text() == "old"


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\x00\x01\xff",
        b"- a\n",
        b"a: &a [*a]\n",
        b"a: &x {b: 1}\na: 2\n",
        b"x: " + b"[" * 50_000,
        b"pactoVersion: '1.0'\n" * 3,
        b"#" * (2 << 20),
        b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: &d [*c,*c]\n" + b"e: [*d,*d]\n" * 3,
        b'pactoVersion: "1.0"\nservice: {name: "\x1b[31m", version: 1.0.0}\nwhat: 1\n',
    ],
    ids=["empty", "binary", "list", "loop", "duplicate", "deep", "repeated", "large", "aliases", "escape"],
)
def test_a_contract_that_is_none_is_one_parse_error(bare: Workspace, text: bytes) -> None:
    Path("mill").mkdir()
    Path("mill/pacto.yaml").write_bytes(text)
    found = bare.run("validate", "mill", "-o", "json")
    assert found.code == 1
    assert [each["Code"] for each in found.json["Errors"]] == ["PARSE_ERROR"]
    for command in (
        ("explain", "mill"),
        ("graph", "mill"),
        ("pack", "mill"),
        ("lock", "mill"),
        ("diff", "mill", "mill"),
    ):
        refused = bare.run(*command)
        assert (refused.code, refused.out, bool(refused.err)) == (1, "", True)
        assert "\x1b" not in refused.err


def test_what_a_contract_says_does_not_reach_the_terminal_raw(bare: Workspace) -> None:
    bare.write({"mill/pacto.yaml": 'pactoVersion: "1.0"\nservice: {name: "a\\e[2Jb", version: "1\\n2"}\n'})
    for command in (("explain", "mill"), ("graph", "mill"), ("validate", "mill")):
        found = bare.run(*command)
        assert "\x1b" not in found.out + found.err


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*b", "^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_hostile_pattern_of_a_policy_takes_no_time(bare: Workspace, pattern: str) -> None:
    name = "a" * 60
    bare.write(
        {
            "mill/pacto.yaml": MILL + f"metadata: {{x: {name}!}}\npolicies: [{{name: p, schema: p.json}}]\n",
            "mill/p.json": '{"properties": {"metadata": {"properties": {"x": {"pattern": "' + pattern + '"}}}}}',
        }
    )
    found = bare.shell("validate", "mill", "-o", "json")
    assert found.json["Valid"] is False


def test_a_cycle_of_policies_ends(space: Workspace) -> None:
    for name, other in (("a", "b"), ("b", "a")):
        policies = f"policies: [{{name: p, ref: 'oci://{space.registry}/{other}:1'}}]\n"
        space.push(f"{name}:1", {"pacto.yaml": MILL + policies})
    found = space.run("validate", f"oci://{space.registry}/a:1", "-o", "json").json
    assert [each["Code"] for each in found["Errors"]] == ["POLICY_REF_CYCLE"]


def test_a_pipe_as_a_contract_does_not_block(bare: Workspace) -> None:
    Path("mill").mkdir()
    os.mkfifo("mill/pacto.yaml")
    assert bare.run("validate", "mill").code == 1


@pytest.mark.parametrize(
    "ref", ["oci://", "oci://x", "oci://r.test/A:1", "oci://r.test/a@sha256:1", "oci://r t/a", "oci://../a:1"]
)
def test_a_bad_reference_is_refused_at_once(bare: Workspace, ref: str) -> None:
    bare.write({"mill/pacto.yaml": MILL})
    for command in (("pull", ref), ("validate", ref), ("push", ref, "-p", "mill")):
        found = bare.run(*command)
        assert (found.code, bool(found.err)) == (1, True), command
