"""Credentials come from where the user has them, in the order that is promised."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from homeostat.external.secrets.credentials import CredentialError
from homeostat.external.secrets.docker_config import RegistryCredential
from homeostat.operators.contracts.sources.credential_order import operator_keychain, user_keychain
from homeostat.operators.contracts.sources.pull_secret import read_pull_secret

HOST = "registry.test:5000"


def _auths(user: str, host: str = HOST) -> dict[str, Any]:
    return {"auths": {host: {"auth": base64.b64encode(f"{user}:pw".encode()).decode()}}}


def _program(folder: Path, name: str, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def _user(found: RegistryCredential | None) -> str:
    if found is None:
        return ""
    return found.basic.username if found.basic else found.registry_token or found.identity_token


class Machine:
    """A home with configuration files, and a PATH with programs."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ = {"HOME": str(home), "PATH": str(home / "bin")}

    def config(self, name: str, content: Any) -> None:
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))

    def find(self, host: str = HOST, **environ: str) -> str:
        return _user(user_keychain({**self.environ, **environ}).find(host, "a/b"))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_without_credentials_there_are_none(machine: Machine) -> None:
    assert machine.find() == ""


def test_the_order_is_environment_pacto_docker_podman(machine: Machine) -> None:
    machine.config("podman.json", _auths("podman"))
    podman = {"REGISTRY_AUTH_FILE": str(machine.home / "podman.json")}
    assert machine.find(**podman) == "podman"
    machine.config(".docker/config.json", _auths("docker"))
    assert machine.find(**podman) == "docker"
    machine.config("elsewhere/config.json", _auths("moved"))
    assert machine.find(DOCKER_CONFIG=str(machine.home / "elsewhere")) == "moved"
    machine.config(".config/pacto/config.json", _auths("pacto"))
    assert machine.find() == "pacto"
    machine.config("xdg/pacto/config.json", _auths("xdg"))
    assert machine.find(XDG_CONFIG_HOME=str(machine.home / "xdg")) == "xdg"
    basic = {"PACTO_REGISTRY_USERNAME": "env", "PACTO_REGISTRY_PASSWORD": "x"}
    assert machine.find(**basic) == "env"
    assert machine.find(PACTO_REGISTRY_USERNAME="env") == "pacto"
    assert machine.find(**basic, PACTO_REGISTRY_TOKEN="token") == "token"


def test_a_credential_of_the_environment_may_be_for_one_host(machine: Machine) -> None:
    given = {"PACTO_REGISTRY_TOKEN": "token", "PACTO_REGISTRY_HOST": HOST}
    assert machine.find(**given) == "token"
    assert machine.find("evil.test", **given) == ""
    assert machine.find("evil.test", PACTO_REGISTRY_TOKEN="token") == "token"


@pytest.mark.parametrize(
    "given", [{"PACTO_REGISTRY_TOKEN": "t"}, {"PACTO_REGISTRY_USERNAME": "u", "PACTO_REGISTRY_PASSWORD": "p"}]
)
def test_an_operator_sends_a_credential_to_the_registry_that_it_is_for(
    given: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    for_one = operator_keychain({**given, "PACTO_REGISTRY_HOST": HOST})
    assert (for_one.find(HOST, "a/b") is None, for_one.find("evil.test", "a/b") is None) == (False, True)
    assert caplog.text == ""
    # Others name the registries.
    assert operator_keychain(given).find(HOST, "a/b") is None
    assert "set PACTO_REGISTRY_HOST" in caplog.text


def test_an_entry_counts_for_its_host_only(machine: Machine) -> None:
    machine.config(".config/pacto/config.json", _auths("pacto"))
    assert machine.find("other.test") == ""
    assert machine.find("registry.test") == ""


def test_a_token_of_github_goes_to_github_only(machine: Machine) -> None:
    _program(machine.home / "bin", "gh", 'test "$*" = "auth token" && echo t0ken')
    for host, user in (
        ("ghcr.io", "x-access-token"),
        ("docker.pkg.github.com", "x-access-token"),
        ("ghcr.io.test", ""),
    ):
        assert machine.find(host) == user


def test_a_program_of_github_without_login_is_no_error(machine: Machine) -> None:
    _program(machine.home / "bin", "gh", "echo no login >&2; exit 1")
    assert machine.find("ghcr.io") == ""


@pytest.mark.parametrize("config", [{"credHelpers": {HOST: "own"}}, {"credsStore": "own"}], ids=["helper", "store"])
def test_a_helper_of_docker_is_run(machine: Machine, config: dict[str, Any]) -> None:
    machine.config(".docker/config.json", config)
    _program(
        machine.home / "bin",
        "docker-credential-own",
        f'read -r host; test "$1 $host" = "get {HOST}" && echo \'{{"Username":"helped","Secret":"x"}}\' || exit 1',
    )
    assert machine.find() == "helped"
    _program(machine.home / "bin", "docker-credential-own", 'echo \'{"Username":"<token>","Secret":"refresh"}\'')
    assert machine.find() == "refresh"


@pytest.mark.parametrize("text", [None, "echo credentials not found; exit 1"], ids=["missing", "empty"])
def test_a_helper_that_has_nothing_gives_nothing(machine: Machine, text: str | None) -> None:
    machine.config(".docker/config.json", {"credsStore": "own"})
    if text:
        _program(machine.home / "bin", "docker-credential-own", text)
    assert machine.find() == ""


def test_what_a_helper_says_must_be_a_credential(machine: Machine) -> None:
    machine.config(".docker/config.json", {"credsStore": "own"})
    _program(machine.home / "bin", "docker-credential-own", "echo hunter2")
    with pytest.raises(CredentialError, match="docker-credential-own") as refused:
        machine.find()
    assert "hunter2" not in str(refused.value)


def test_a_helper_is_a_name_and_not_a_path(machine: Machine) -> None:
    machine.config(".docker/config.json", {"credsStore": "/../../x"})
    with pytest.raises(CredentialError, match="not the name"):
        machine.find()


async def test_a_slow_helper_is_run_once_and_does_not_block_the_loop(machine: Machine) -> None:
    machine.config(".docker/config.json", {"credsStore": "slow"})
    waits = f"while [ ! -e {machine.home}/ready ]; do sleep 0.02; done"
    text = f'echo >> {machine.home}/runs; {waits}; echo \'{{"Username": "jo", "Secret": "pw"}}\''
    _program(machine.home / "bin", "docker-credential-slow", text)
    keychain = user_keychain({**machine.environ, "PATH": f"{machine.home}/bin:/usr/bin:/bin"})
    lookups = asyncio.gather(*(keychain.look_up(HOST, "a/b") for _ in range(3)))
    for _ in range(5):
        await asyncio.sleep(0.01)
        assert not lookups.done()
    (machine.home / "ready").touch()
    assert [_user(each) for each in await lookups] == ["jo"] * 3
    assert (machine.home / "runs").read_text() == "\n"


def test_lookups_of_many_repositories_are_not_all_kept(machine: Machine) -> None:
    machine.config(".config/pacto/config.json", _auths("jo"))
    keychain = user_keychain(machine.environ)
    for number in range(3000):
        assert _user(keychain.find(HOST, f"a/{number}")) == "jo"
    assert len(keychain) <= 1024


def test_a_config_that_is_no_json_is_named_and_not_shown(machine: Machine) -> None:
    path = machine.home / ".config/pacto/config.json"
    path.parent.mkdir(parents=True)
    path.write_text("hunter2")
    with pytest.raises(CredentialError, match=r"pacto/config\.json") as refused:
        machine.find()
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    ("data", "user"),
    [
        ({"token": b"t", "username": b"u", "password": b"p"}, "t"),
        ({"username": b"u", "password": b"p"}, "u"),
        ({".dockerconfigjson": json.dumps(_auths("docker")).encode()}, "docker"),
        ({".dockerconfigjson": json.dumps(_auths("docker", f"https://{HOST}/v2/")).encode()}, "docker"),
    ],
)
def test_a_pull_secret_has_one_of_three_forms(data: dict[str, bytes], user: str) -> None:
    assert _user(read_pull_secret(data).find(HOST, "a/b")) == user


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"username": b"u"},
        {"token": b""},
        {".dockerconfigjson": b"{"},
        {".dockerconfigjson": json.dumps({"auths": {HOST: {"auth": "!"}}}).encode()},
        {".dockerconfigjson": json.dumps(_auths("x", "other.test")).encode()},
    ],
)
def test_another_secret_is_refused(data: dict[str, bytes]) -> None:
    with pytest.raises(CredentialError):
        read_pull_secret(data).find(HOST, "a/b")
