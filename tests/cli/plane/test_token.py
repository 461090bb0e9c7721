"""Tokens and kubeconfigs are created by a command and accepted by a plane that is running."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest
import yaml

from tests.cli.running import Cli, Up


def kubeconfig_with(up: Up, token: str, path: Path) -> Path:
    config = yaml.safe_load(up.cli.here("kubeconfig").out)
    config["users"][0]["user"] = {"token": token}
    path.write_text(yaml.safe_dump(config))
    return path


def test_a_token_is_printed_alone_and_works_until_revoked(up: Up, tmp_path: Path) -> None:
    made = up.cli("token", "create", "ci", "--group", "system:masters", "--ttl", "12h")
    token = made.out.strip()
    assert re.fullmatch(r"hst-\w+-\w+", token)
    assert "cannot be shown again" in made.err
    config = kubeconfig_with(up, token, tmp_path / "ci")
    assert up.cli.here("get", "ns", "default", "-o", "name", "--kubeconfig", config).out == "namespace/default\n"
    listed = up.cli.here("token", "list")
    assert token not in listed.out
    identity = token.split("-")[1]
    assert [identity, "ci", "system:masters"] in [row[:3] for row in listed.rows]
    assert up.cli.here("token", "revoke", identity).out == f"revoked {identity}\n"
    deadline = time.monotonic() + 30
    while (refused := up.cli.here("get", "ns", "--kubeconfig", config)).code == 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert refused.code == 1
    assert f"does not accept the token of {config}" in refused.err
    assert token not in refused.err


def test_a_user_without_a_role_is_refused(up: Up, tmp_path: Path) -> None:
    made = up.cli.here("token", "create", "guest")
    assert "kubectl create clusterrolebinding guest-view --clusterrole=view --user=guest" in made.err
    config = kubeconfig_with(up, made.out.strip(), tmp_path / "guest")
    for command in (["get", "secrets"], ["watch", "secrets"]):
        refused = up.cli.here(*command, "--kubeconfig", config)
        assert refused.code == 1
        assert 'User "guest" cannot list' in refused.err
        assert "homeostat auth grant list secrets --user guest -n default" in refused.err


def test_a_kubeconfig_with_a_token_has_no_other_credential(up: Up, tmp_path: Path) -> None:
    made = up.cli("token", "create", "guest", "-o", "kubeconfig")
    config = tmp_path / "guest.kubeconfig"
    config.write_text(made.out)
    assert yaml.safe_load(made.out)["users"][0]["user"].keys() == {"token"}
    assert 'User "guest" cannot list' in up.cli.here("get", "secrets", "--kubeconfig", config).err


def test_a_command_on_a_plane_takes_the_one_that_wrote_the_kubeconfig(up: Up, tmp_path: Path) -> None:
    """Not the one in the home directory, which kubectl and `homeostat get` do not use either."""
    own = up.data / "kubeconfig"
    bare = {name: value for name, value in up.cli.environment.items() if name != "HOMEOSTAT_DATA"}
    bare |= {"HOME": str(tmp_path), "KUBECONFIG": str(own)}
    assert Cli(bare)("kubeconfig", "--path").out == f"{own}\n"
    copied = tmp_path / "kubeconfig"
    copied.write_text(own.read_text())
    elsewhere = Cli({**bare, "KUBECONFIG": str(copied)})("kubeconfig", "--path")
    assert f"there is no kubeconfig in {tmp_path}/.homeostat" in elsewhere.err


def test_no_token_is_created_if_its_kubeconfig_cannot_be_printed(cli: Cli, tmp_path: Path) -> None:
    refused = cli.here("token", "create", "guest", "-o", "kubeconfig", "--data", tmp_path)
    assert (refused.code, refused.out) == (1, "")
    assert "homeostat up" in refused.err
    assert not (tmp_path / "tokens.json").exists()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["create", "a", "--ttl", "soon"], 2, "30d", id="not a time"),
        pytest.param(["create", "a", "--ttl", "0s"], 2, "never", id="over at once"),
        pytest.param(["create", " "], 2, "not a valid name", id="no name"),
        pytest.param(["create", "a", "--data", "/no/such"], 1, "homeostat up", id="no plane"),
        pytest.param(["revoke", "nope"], 1, "token list", id="unknown id"),
    ],
)
def test_what_cannot_be_a_token_is_refused(up: Up, arguments: list[str], code: int, words: str) -> None:
    ended = up.cli.here("token", *arguments)
    assert (ended.code, ended.out) == (code, "")
    assert words in ended.err


def test_the_kubeconfig_is_printed_by_path_or_content(up: Up) -> None:
    path = up.cli.here("kubeconfig", "--path").out.strip()
    assert path == str(up.data / "kubeconfig")
    assert up.cli.here("kubeconfig").out == Path(path).read_text()
    assert up.url in Path(path).read_text()
