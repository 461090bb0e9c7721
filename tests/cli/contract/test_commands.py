"""What the recordings leave open: options in every place, many bundles, credentials, caches, and reports on stderr."""

from __future__ import annotations

import json
import shutil
import stat
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.archives import unpack
from tests.cli.contract.workspace import Workspace
from tests.external.registries import PASSWORD, USER, issuing_tokens, running_registry, with_passwords

MILL = 'pactoVersion: "1.0"\nservice: {name: mill, version: 1.1.0}\n'
WARNED = MILL + "interfaces: [{name: e, type: event, port: 80, contract: e.yaml}]\n"


@pytest.fixture
def mill(space: Workspace) -> Workspace:
    space.write({"mill/pacto.yaml": MILL, "mill/docs/guide.md": "# guide\n"})
    return space


@pytest.mark.parametrize(
    "arguments",
    [
        ("validate", "mill", "--output-format", "json"),
        ("--output-format", "json", "validate", "mill"),
        ("--output-format=json", "validate", "mill"),
        ("-o", "json", "validate", "mill"),
        ("validate", "mill", "-o", "json"),
        ("-v", "validate", "-o", "json", "--no-cache", "--no-anim", "mill"),
        ("--output-format", "text", "validate", "mill", "-o", "json"),
        ("--no-cache=true", "validate", "mill", "--readiness=false", "--verbose=0", "--output-format=json"),
    ],
    ids=" ".join,
)
def test_global_options_stand_before_and_after_the_command(mill: Workspace, arguments: tuple[str, ...]) -> None:
    expected = {"Path": "mill", "Valid": True, "Errors": None, "Warnings": None}
    assert mill.run(*arguments).json == expected


def test_options_come_from_the_environment_and_from_a_file(mill: Workspace) -> None:
    assert mill.run("validate", "mill", PACTO_OUTPUT_FORMAT="json").json["Valid"]
    assert mill.run("validate", "mill", "-o", "text", PACTO_OUTPUT_FORMAT="json").out == "mill is valid\n"
    mill.write({"own.yaml": "output-format: json\n"})
    assert mill.run("--config", "own.yaml", "validate", "mill").json["Valid"]
    (mill.home / ".config/pacto").mkdir(parents=True)
    (mill.home / ".config/pacto/pacto.yaml").write_text("output-format: json\n")
    assert mill.run("validate", "mill").json["Valid"]
    assert mill.run("validate", "mill", PACTO_OUTPUT_FORMAT="text").out == "mill is valid\n"


def test_findings_are_on_stderr_and_the_verdict_on_stdout(bare: Workspace) -> None:
    bare.write({"a/pacto.yaml": WARNED, "a/e.yaml": "x: 1\n", "b/pacto.yaml": WARNED, "c/pacto.yaml": "a: [\n"})
    warned = bare.run("validate", "a")
    assert (warned.code, warned.out) == (0, "a is valid\n")
    assert warned.err.startswith("  WARN  [PORT_IGNORED] interfaces[0].port: ")
    broken = bare.run("validate", "b")
    assert (broken.code, broken.out) == (1, "b is invalid\n")
    lines = broken.err.splitlines()
    assert lines[0].startswith("  ERROR [FILE_NOT_FOUND] interfaces[0].contract: ")
    assert lines[-1] == "validation failed with 1 error(s)"
    unparsed = bare.run("validate", "c")
    assert unparsed.err.startswith("  ERROR [PARSE_ERROR] : ")


def test_without_a_bundle_it_is_the_working_directory(bare: Workspace) -> None:
    bare.write({"pacto.yaml": MILL})
    assert bare.run("validate").out == ". is valid\n"
    assert bare.run("graph").out == "mill@1.1.0\n"
    assert bare.run("explain").out.startswith("Service: mill@1.1.0\n")
    assert bare.run("lock").out == "wrote pacto.lock (0 dependencies, 0 references)\n"
    assert bare.run("pack").out == "Packed mill@1.1.0 -> mill-1.1.0.tar.gz\n"


def test_a_bundle_is_a_directory_and_never_a_file(mill: Workspace) -> None:
    found = mill.run("validate", "mill/pacto.yaml", "-o", "json").json
    assert [each["Code"] for each in found["Errors"]] == ["PARSE_ERROR"]
    assert mill.run("validate", "file://mill").out == "file://mill is valid\n"


def test_many_bundles_are_validated_in_one_call(mill: Workspace) -> None:
    mill.write({"b/pacto.yaml": WARNED, "c/pacto.yaml": MILL})
    found = mill.run("validate", "mill", "b", "c", "-o", "json")
    assert [(each["Path"], each["Valid"]) for each in found.json] == [("mill", True), ("b", False), ("c", True)]
    assert found.code == 1
    text = mill.run("validate", "mill", "b", "c")
    assert text.out == "mill is valid\nb is invalid\nc is valid\n"
    assert text.err.splitlines()[0] == "b:"
    assert text.err.splitlines()[-1] == "validation failed with 1 error(s) in 1 of 3 bundles"
    assert mill.run("validate", "mill", "c").code == 0


def test_bundles_of_directories_and_registries_are_validated_together(mill: Workspace) -> None:
    mill.push("a:1.0.0", {"pacto.yaml": MILL})
    ref = f"oci://{mill.registry}/a"
    found = mill.run("validate", "mill", ref, f"{ref}:2", "-o", "json").json
    assert [each["Valid"] for each in found] == [True, True, False]
    assert found[2]["Errors"][0]["Code"] == "PARSE_ERROR"
    assert "artifact not found" in found[2]["Errors"][0]["Message"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("nothing",), 2),
        (("validate", "--nothing"), 2),
        (("--nothing", "validate"), 2),
        (("validate", "-o", "yaml"), 2),
        (("diff", "mill"), 2),
        (("push",), 2),
        (("pull", "mill"), 1),
        (("init",), 2),
        (("lock", "a", "b"), 2),
        (("--config", "none.yaml", "validate", "mill"), 1),
        (("validate", "mill", "--set", "x"), 1),
        (("explain", "mill", "-f", "none.yaml"), 1),
    ],
    ids=lambda given: " ".join(given) if isinstance(given, tuple) else "",
)
def test_wrong_usage_is_exit_code_2_and_another_failure_1(
    mill: Workspace, arguments: tuple[str, ...], code: int
) -> None:
    found = mill.run(*arguments)
    assert (found.code, bool(found.err)) == (code, True)


def test_the_help_of_every_command_has_an_example(bare: Workspace) -> None:
    from homeostat.cli.contract import COMMANDS

    for name in (name for members in COMMANDS.values() for name in members):
        text = bare.run(name, "--help").out
        assert "homeostat contract" in text.partition("Example")[2], name
        assert "--output-format" in text


def test_a_values_file_and_settings_change_what_is_packed(mill: Workspace) -> None:
    mill.write({"v.yaml": "metadata: {tier: gold, since: '2026-01-01', on: 'yes'}\nservice: {version: 2.0.0}\n"})
    assert mill.run("pack", "mill", "-f", "v.yaml", "--set", "service.version=3.0.0").out == (
        "Packed mill@3.0.0 -> mill-3.0.0.tar.gz\n"
    )
    Path("got").mkdir()
    with tarfile.open("mill-3.0.0.tar.gz") as tar:
        unpack(tar, Path("got"))
    fields = json.loads(mill.run("explain", "got", "-o", "json").out)
    assert fields["version"] == "3.0.0"
    assert fields["metadata"] == {"tier": "gold", "since": "2026-01-01", "on": "yes"}


def test_packing_twice_gives_the_same_bytes_and_not_the_first_archive(mill: Workspace) -> None:
    assert mill.run("pack", "mill", "-o", "mill/out.tgz").code == 0
    first = Path("mill/out.tgz").read_bytes()
    Path("mill/docs/guide.md").touch()
    assert mill.run("pack", "mill", "-o", "mill/out.tgz").code == 0
    assert Path("mill/out.tgz").read_bytes() == first


def test_an_ignored_file_that_the_contract_names_is_missing(bare: Workspace) -> None:
    bare.write({"mill/pacto.yaml": WARNED, "mill/e.yaml": "x: 1\n", "mill/.pactoignore": "*.yaml\n"})
    found = bare.run("pack", "mill")
    assert found.code == 1
    assert "e.yaml" in found.err
    assert not list(Path().glob("*.tar.gz"))


def test_a_contract_in_a_large_repository_is_read_alone(bare: Workspace) -> None:
    """The other files may be many, large or links: only packing reads them."""
    bare.write({"pacto.yaml": WARNED, "e.yaml": "x: 1\n", "sbom/a.spdx.json": "{}", "node_modules/x": ""})
    for number in range(10_050):
        Path(f"node_modules/{number}").touch()
    Path("node_modules/link").symlink_to("/etc")
    assert bare.run("validate").code == 0
    assert bare.run("diff", ".", ".").code == 0
    assert bare.run("graph").code == 0
    bare.write({"pacto.yaml": WARNED.replace("e.yaml", "gone/e.yaml")})
    assert "FILE_NOT_FOUND" in bare.run("validate").err
    bare.write({"pacto.yaml": WARNED})
    refused = bare.run("pack")
    assert (refused.code, ".pactoignore" in refused.err) == (1, True)
    bare.write({".pactoignore": "node_modules/\n"})
    assert bare.run("pack").code == 0


def test_a_link_is_not_published(mill: Workspace) -> None:
    Path("mill/docs/key").symlink_to("/etc/hostname")
    for command in (("pack", "mill"), ("push", f"oci://{mill.registry}/x", "-p", "mill")):
        found = mill.run(*command)
        assert (found.code, "docs/key" in found.err) == (1, True)
    assert mill.run("validate", "mill").code == 0


def test_a_pushed_bundle_is_pulled_validated_compared_and_explained(mill: Workspace) -> None:
    ref = f"oci://{mill.registry}/pub/mill"
    pushed = mill.run("push", ref, "-p", "mill", "-o", "json").json
    assert pushed == {**pushed, "Ref": f"{mill.registry}/pub/mill:1.1.0", "Name": "mill", "Version": "1.1.0"}
    assert mill.run("validate", ref).out == f"{ref} is valid\n"
    assert mill.run("explain", f"{ref}@{pushed['Digest']}").out.startswith("Service: mill@1.1.0")
    assert mill.run("diff", ref, "mill").out == "Classification: NON_BREAKING\nNo changes detected.\n"
    got = mill.run("pull", f"{ref}@{pushed['Digest']}", "-o", "a/b", "--output-format", "json").json
    assert got == {
        "Ref": f"{mill.registry}/pub/mill@{pushed['Digest']}",
        "Output": "a/b",
        "Name": "mill",
        "Version": "1.1.0",
    }
    assert Path("a/b/docs/guide.md").read_text() == "# guide\n"


def test_a_flag_may_have_a_value(mill: Workspace) -> None:
    ref = f"oci://{mill.registry}/flag"
    assert mill.run("push", ref, "-p", "mill").code == 0
    assert "already exists" in mill.run("push", ref, "-p", "mill", "--force=false").err
    assert mill.run("push", ref, "-p", "mill", "--force=true").out.startswith("Pushed")
    assert mill.run("push", ref, "-p", "mill", "--force=perhaps").code == 2


def test_a_second_push_of_equal_files_has_the_same_digest(mill: Workspace) -> None:
    ref = f"oci://{mill.registry}/twice"
    digests = [mill.run("push", ref, "-p", "mill", "-f", "-o", "json").json["Digest"] for _ in range(2)]
    assert digests[0] == digests[1]


def test_push_enforces_policies_of_other_bundles_and_pack_does_not(mill: Workspace) -> None:
    rules = {"pacto.yaml": MILL.replace("mill", "rules"), "policy/schema.json": '{"required": ["metadata"]}'}
    mill.push("rules:1.0.0", rules)
    policies = f"policies: [{{name: house, ref: 'oci://{mill.registry}/rules'}}]\n"
    mill.write({"mill/pacto.yaml": MILL + policies})
    found = mill.run("push", f"oci://{mill.registry}/m", "-p", "mill")
    assert (found.code, 'policies["house"]' in found.err) == (1, True)
    assert found.err.splitlines()[-1] == "contract validation failed with 1 error(s)"
    packed = mill.run("pack", "mill")
    assert (packed.code, packed.err) == (0, "")
    assert mill.run("push", f"oci://{mill.registry}/m", "-p", "mill", "--set", "metadata.a=b").code == 0


def test_push_verifies_the_lock(mill: Workspace) -> None:
    mill.push("weir:1.0.0", {"pacto.yaml": MILL.replace("mill", "weir")})
    needs = f"dependencies: [{{name: weir, ref: 'oci://{mill.registry}/weir', compatibility: '*'}}]\n"
    mill.write({"mill/pacto.yaml": MILL + needs})
    assert mill.run("lock", "mill").code == 0
    mill.push("weir:1.1.0", {"pacto.yaml": MILL.replace("mill", "weir").replace("1.1.0", "1.2.0")})
    found = mill.run("push", f"oci://{mill.registry}/m", "-p", "mill")
    assert (found.code, found.err.partition(":")[0]) == (1, "LOCK_DIGEST_MISMATCH")
    locked = mill.run("lock", "mill", "--update", "-o", "json").json
    assert locked == {**locked, "path": "mill/pacto.lock", "written": True, "dependencies": 1, "references": 0}
    assert "upToDate" not in locked
    assert mill.run("lock", "mill", "--check", "-o", "json").json["upToDate"] is True
    unknown = mill.run("lock", "mill", "--update-name", "wier")
    assert (unknown.code, unknown.err) == (1, '--update-name: there is no dependency "wier"; there are weir\n')
    assert mill.run("push", f"oci://{mill.registry}/m", "-p", "mill").code == 0
    Path("empty").mkdir()
    assert mill.run("validate", f"oci://{mill.registry}/m").code == 0


def test_only_local_directories_are_locked_and_packed(bare: Workspace) -> None:
    for command in ("lock", "pack"):
        found = bare.run(command, "oci://127.0.0.1:1/a")
        assert (found.code, "local directory" in found.err) == (1, True)


def test_an_unreadable_lock_is_an_error_of_validation(bare: Workspace) -> None:
    bare.write({"mill/pacto.yaml": MILL, "mill/pacto.lock/x": ""})
    (error,) = bare.run("validate", "mill", "-o", "json").json["Errors"]
    assert error["Code"] == "LOCK_ERROR"
    assert bare.run("lock", "mill", "--check").err.startswith("LOCK_MISSING")


def test_references_are_shown_on_request(bare: Workspace) -> None:
    more = "dependencies: [{name: w, ref: ../weir, compatibility: '*'}]\nconfigurations: [{name: c, ref: 'oci://r.test/c:1'}]\n"
    bare.write({"mill/pacto.yaml": MILL + more, "weir/pacto.yaml": MILL.replace("mill", "weir")})
    assert bare.run("graph", "mill", "--with-references").out == "mill@1.1.0\n├─ weir@1.1.0 [local]\n└─ c:1 [ref]\n"
    assert bare.run("graph", "mill", "--only-references").out == "mill@1.1.0\n└─ c:1 [ref]\n"


def test_the_cache_serves_a_digest_when_the_registry_is_gone(bare: Workspace, tmp_path: Path) -> None:
    with running_registry(tmp_path / "registry") as host:
        bare.registry = host
        digest = bare.push("a:1.0.0", {"pacto.yaml": MILL})
        ref = f"oci://{host}/a@{digest}"
        assert bare.run("validate", ref, XDG_CACHE_HOME=str(tmp_path / "cache")).code == 0
    assert bare.run("validate", ref, XDG_CACHE_HOME=str(tmp_path / "cache")).code == 0
    for careful in ({"PACTO_NO_CACHE": "1"}, {"XDG_CACHE_HOME": str(tmp_path / "other")}):
        found = bare.run("validate", ref, **{"XDG_CACHE_HOME": str(tmp_path / "cache"), **careful})
        assert found.code == 1


def test_login_stores_credentials_and_logout_removes_them(bare: Workspace, tmp_path: Path) -> None:
    bare.write({"mill/pacto.yaml": MILL})
    folder = tmp_path / "private"
    with running_registry(folder, with_passwords(folder)) as host:
        push = ("push", f"oci://{host}/a", "-p", "mill")
        refused = bare.run(*push)
        assert (refused.code, "credentials" in refused.err) == (1, True)
        assert bare.run("login", host, "-u", USER, "-p", PASSWORD).out == f"Login succeeded for {host}\n"
        config = bare.home / ".config/pacto/config.json"
        assert stat.S_IMODE(config.stat().st_mode) == 0o600
        assert PASSWORD not in config.read_text()
        assert bare.run(*push).code == 0
        assert bare.run("pull", f"oci://{host}/a", "-o", "got").code == 0
        assert bare.run("logout", host).out == f"Logout succeeded for {host}\n"
        assert bare.run("logout", host).out == f"No stored credentials for {host}\n"
        assert bare.run("pull", f"oci://{host}/a", "-o", "got").code == 1
        basic = {"PACTO_REGISTRY_USERNAME": USER, "PACTO_REGISTRY_PASSWORD": PASSWORD}
        assert bare.run("pull", f"oci://{host}/a", "-o", "got", **basic).code == 0


def test_login_and_logout_take_the_url_of_a_registry_and_refuse_what_names_none(bare: Workspace) -> None:
    own = {"XDG_CONFIG_HOME": str(bare.home)}
    file = bare.home / "pacto" / "config.json"
    assert bare.run("login", "https://r.test:5000/v2/", "-u", "a", "-p", "b", **own).out == (
        "Login succeeded for r.test:5000\n"
    )
    assert list(json.loads(file.read_text())["auths"]) == ["r.test:5000"]
    for host in ("", "https://", "r.test/team", "r test", "ann@r.test", "-r.test"):
        for refused in (("login", "-u", "a", "-p", "b", "--", host), ("logout", "--", host)):
            found = bare.run(*refused, **own)
            assert (found.code, "is not the host of a registry" in found.err) == (1, True), host
    file.write_text('{"auths": {"https://r.test:5000/v1/": {"auth": "YTpi"}}}')
    assert bare.run("logout", "r.test:5000", **own).out == "Logout succeeded for r.test:5000\n"
    assert json.loads(file.read_text()) == {"auths": {}}
    file.write_text('{"auths": ["x"]}')
    assert "is not a map" in bare.run("login", "r.test", "-u", "a", "-p", "b", **own).err


def test_login_reads_a_password_and_keeps_other_entries(bare: Workspace) -> None:
    config = bare.home / "xdg/pacto/config.json"
    config.parent.mkdir(parents=True)
    config.write_text('{"auths": {"other.test": {"auth": "eA=="}}, "more": 1}')
    own = {"XDG_CONFIG_HOME": str(bare.home / "xdg")}
    assert bare.run("login", "r.test", "-u", "ann", "--password-stdin", stdin="s3cret\n", **own).code == 0
    assert json.loads(config.read_text()) == {
        "auths": {"other.test": {"auth": "eA=="}, "r.test": {"auth": "YW5uOnMzY3JldA=="}},
        "more": 1,
    }
    assert bare.run("login", "r.test", **own).err == "--username is required\n"
    config.write_text("hunter2")
    found = bare.run("login", "r.test", "-u", "a", "-p", "b", **own)
    assert (found.code, "hunter2" in found.err) == (1, False)


async def test_a_token_server_is_asked(bare: Workspace, tmp_path: Path) -> None:
    import asyncio

    bare.write({"mill/pacto.yaml": MILL})
    basic = {"PACTO_REGISTRY_USERNAME": USER, "PACTO_REGISTRY_PASSWORD": PASSWORD}
    async with issuing_tokens() as tokens:
        with running_registry(tmp_path / "r", tokens.auth(tmp_path / "r")) as host:
            push = ("push", f"oci://{host}/a", "-p", "mill")
            assert (await asyncio.to_thread(bare.shell, *push)).code == 1
            assert (await asyncio.to_thread(bare.shell, *push, **basic)).code == 0
            assert (await asyncio.to_thread(bare.shell, "validate", f"oci://{host}/a")).code == 0


def test_a_bundle_is_used_only_if_its_signature_matches_a_key(mill: Workspace) -> None:
    digest = mill.push("weir:1.0.0", {"pacto.yaml": MILL.replace("mill", "weir")})
    ref = f"oci://{mill.registry}/weir:1.0.0"
    own, other = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    for name, key in (("own.pub", own), ("other.pub", other)):
        form = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        Path(name).write_bytes(key.public_key().public_bytes(*form))
    refused = mill.run("pull", ref, "--verify-key", "own.pub")
    assert (refused.code, "no signature" in refused.err, Path("weir").exists()) == (1, True, False)
    mill.sign("weir", digest, own)
    assert mill.run("pull", ref, "--verify-key", "own.pub").code == 0
    (error,) = mill.run("validate", ref, "--verify-key", "other.pub", "-o", "json").json["Errors"]
    assert error["Code"] == "SIGNATURE_INVALID"
    needs = f"dependencies: [{{name: w, ref: '{ref}', compatibility: '*'}}]\n"
    mill.write({"mill/pacto.yaml": MILL + needs})
    assert "weir@1.1.0" in mill.run("graph", "mill", "--verify-key", "own.pub").out
    assert "not trusted" in mill.run("graph", "mill", "--verify-key", "other.pub").out
    for bad in ("none.pub", "mill/pacto.yaml"):
        assert mill.run("explain", ref, "--verify-key", bad).code == 1


def test_init_writes_a_valid_bundle_below_a_directory(bare: Workspace) -> None:
    assert bare.run("init", "a/windmill", "-o", "json").json == {"Dir": "a/windmill", "Path": "a/windmill/pacto.yaml"}
    assert bare.run("validate", "a/windmill").code == 0
    for name in ("Windmill", "a b", "-x", ".", ""):
        assert bare.run("init", "--", name).code == 1
    assert sorted(each.name for each in Path().iterdir()) == ["a"]


_IMPORTS = """
import sys
from homeostat.cli.main import main
main(["contract", "validate", "mill", "other"], standalone_mode=False)
print([name for name in ("asyncio", "aiohttp", "ssl", "cryptography", "rich") if name in sys.modules])
"""


def test_a_local_bundle_is_validated_without_what_talks_to_registries(bare: Workspace) -> None:
    """The time of this command is mostly the time of its imports."""
    bare.write({f"{name}/pacto.yaml": MILL for name in ("mill", "other")})
    done = subprocess.run(
        [sys.executable, "-c", _IMPORTS], cwd=bare.directory, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["mill is valid", "other is valid", "[]"]


def test_the_command_runs_in_a_shell(mill: Workspace) -> None:
    assert mill.shell("validate", "mill").out == "mill is valid\n"
    assert mill.shell("--no-cache", "push", f"oci://{mill.registry}/s/mill", "-p", "mill").code == 0
    shutil.rmtree(mill.directory / "mill")
    assert mill.shell("pull", f"oci://{mill.registry}/s/mill", "-v").out == "Pulled mill@1.1.0 -> mill/\n"
    assert mill.shell("diff", "mill", "mill", "--new-set", "service.name=wheel").code == 1
