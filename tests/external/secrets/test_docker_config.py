"""Registry credentials are found as the kubelet finds them, and helper programs are refused where one is needed."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest

from homeostat.external.secrets.credentials import BasicAuth, CredentialError
from homeostat.external.secrets.docker_config import (
    CredentialHelperError,
    DockerConfig,
    RegistryCredential,
    parse_docker_config,
    read_docker_config,
)


def packed(user: str, password: str) -> str:
    return base64.b64encode(f"{user}:{password}".encode()).decode()


def config(*keys: str, **more: Any) -> DockerConfig:
    """Each entry's user is its key."""
    auths = {key: {"auth": packed(key.replace(":", "|"), "s3cret")} for key in keys}
    return parse_docker_config(json.dumps({"auths": auths, **more}).encode())


def found(made: DockerConfig, registry: str, repository: str = "") -> str | None:
    credential = made.find(registry, repository)
    return None if credential is None or credential.basic is None else credential.basic.username.replace("|", ":")


@pytest.mark.parametrize("key", ["https://index.docker.io/v1/", "index.docker.io", "docker.io", "registry-1.docker.io"])
@pytest.mark.parametrize("registry", ["docker.io", "index.docker.io", "registry-1.docker.io"])
def test_docker_hub_has_several_names(key: str, registry: str) -> None:
    assert found(config(key, "other.example"), registry, "library/nginx") == key


@pytest.mark.parametrize(
    ("keys", "registry", "repository", "expected"),
    [
        (["ghcr.io"], "ghcr.io", "acme/app", "ghcr.io"),
        (["https://ghcr.io/v2/"], "ghcr.io", "acme/app", "https://ghcr.io/v2/"),
        (["ghcr.io", "ghcr.io/acme"], "ghcr.io", "acme/app", "ghcr.io/acme"),
        (["ghcr.io", "ghcr.io/acme"], "ghcr.io", "other/app", "ghcr.io"),
        (["ghcr.io/acme"], "ghcr.io", "acmeother/app", None),
        (["ghcr.io/acme/app", "ghcr.io/acme"], "ghcr.io", "acme/app", "ghcr.io/acme/app"),
        (["a.example:5000"], "a.example:5000", "x", "a.example:5000"),
        (["a.example"], "a.example:5000", "x", None),
        (["a.example:5000"], "a.example", "x", None),
        (["*.example"], "a.example", "x", "*.example"),
        (["*.example", "a.example"], "a.example", "x", "a.example"),
        (["*.example"], "b.a.example", "x", None),
        (["A.Example"], "a.example", "x", "A.Example"),
        (["ghcr.io"], "ghcr.io.evil.example", "x", None),
        ([], "ghcr.io", "x", None),
    ],
)
def test_the_longest_entry_that_matches_wins(
    keys: list[str], registry: str, repository: str, expected: str | None
) -> None:
    assert found(config(*keys), registry, repository) == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ({"auth": packed("u", "p:w")}, RegistryCredential(basic=BasicAuth("u", "p:w"))),
        ({"username": "u", "password": "p"}, RegistryCredential(basic=BasicAuth("u", "p"))),
        ({"auth": packed("u", "p"), "email": "u@example.com"}, RegistryCredential(basic=BasicAuth("u", "p"))),
        ({"auth": packed("<token>", "t")}, RegistryCredential(identity_token="t")),
        ({"identitytoken": "t"}, RegistryCredential(identity_token="t")),
        ({"registrytoken": "t"}, RegistryCredential(registry_token="t")),
        ({}, None),
    ],
)
def test_an_entry_has_several_forms(entry: dict[str, str], expected: RegistryCredential | None) -> None:
    made = parse_docker_config(json.dumps({"auths": {"a.example": entry}}).encode())
    assert made.find("a.example") == expected


def test_helper_programs_are_refused_where_one_is_needed() -> None:
    made = config("ghcr.io", credHelpers={"123.dkr.ecr.aws": "ecr-login"}, credsStore="desktop")
    assert found(made, "ghcr.io") == "ghcr.io"
    with pytest.raises(CredentialHelperError, match=r'"docker-credential-ecr-login".*kubectl create secret'):
        made.find("123.dkr.ecr.aws", "app")
    with pytest.raises(CredentialHelperError, match='"docker-credential-desktop"'):
        made.find("quay.io")


def test_a_secret_has_the_configuration_in_one_of_its_forms() -> None:
    entry = {"auth": packed("u", "s3cret")}
    new = json.dumps({"auths": {"a.example": entry}}).encode()
    old = json.dumps({"a.example": entry}).encode()
    for data in ({".dockerconfigjson": new}, {".dockercfg": old}, {"config.json": new}):
        made = read_docker_config(data)
        assert made.find("a.example") == RegistryCredential(basic=BasicAuth("u", "s3cret"))
        assert "s3cret" not in repr(made) + repr(made.find("a.example"))


@pytest.mark.parametrize(
    ("data", "told"),
    [
        ({}, "kubectl create secret docker-registry"),
        ({".dockerconfigjson": b"s3cret"}, "not Docker's configuration"),
        ({".dockerconfigjson": b'{"auths": {"a": {"auth": "s3cret!"}}}'}, "is not base64"),
        ({".dockerconfigjson": b'{"auths": {"a": {"auth": ["s3cret"]}}}'}, "not Docker's configuration"),
        ({".dockerconfigjson": b" " * (2 << 20)}, "at most"),
    ],
)
def test_another_form_is_refused_without_showing_it(data: dict[str, bytes], told: str) -> None:
    with pytest.raises(CredentialError, match=told) as error:
        read_docker_config(data)
    assert "s3cret" not in f"{error.value}{error.value.__cause__}"


def test_hostile_wildcards_take_no_time() -> None:
    began = time.thread_time()
    assert found(config("[" * 50_000, "*." * 50_000), "localhost", "x") is None
    with pytest.raises(CredentialError, match="256 hosts with wildcards"):
        config(*(f"*a{number}.example" for number in range(300)))
    assert time.thread_time() - began < 0.5
