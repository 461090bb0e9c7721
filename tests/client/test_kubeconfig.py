"""Which server and which credential a kubeconfig means."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from homeostat.client.kubeconfig import Endpoint, KubeconfigError, load_endpoint


def write(path: Path, *, cluster: Any = None, user: Any = None, **further: Any) -> Path:
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "https://k8s.example:6443/", **(cluster or {})}}],
        "users": [{"name": "u", "user": user or {}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
        **further,
    }
    path.write_text(yaml.safe_dump(config))
    return path


def embedded(text: str) -> str:
    return b64encode(text.encode()).decode()


def test_certificates_may_be_embedded(tmp_path: Path) -> None:
    path = write(
        tmp_path / "config",
        cluster={"certificate-authority-data": embedded("ca"), "tls-server-name": "inside"},
        user={"client-certificate-data": embedded("crt"), "client-key-data": embedded("key")},
    )
    assert load_endpoint([path]) == Endpoint(
        server="https://k8s.example:6443",
        authority=b"ca",
        certificate=b"crt",
        key=b"key",
        tls_server_name="inside",
    )


def test_paths_of_files_count_from_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("ca")
    (tmp_path / "token").write_text("secret\n")
    path = write(tmp_path / "config", cluster={"certificate-authority": "ca.crt"}, user={"tokenFile": "token"})
    found = load_endpoint([path])
    assert (found.authority, found.token) == (b"ca", "secret")


def test_of_several_files_the_earlier_wins_and_missing_ones_are_passed_over(tmp_path: Path) -> None:
    first = write(tmp_path / "first", users=[], **{"current-context": ""})
    second = write(tmp_path / "second", cluster={"server": "https://other"}, user={"token": "t"})
    found = load_endpoint([tmp_path / "missing", first, second])
    assert (found.server, found.token) == ("https://k8s.example:6443", "t")


def test_a_context_may_be_chosen_and_has_a_namespace(tmp_path: Path) -> None:
    contexts = [{"name": "other", "context": {"cluster": "c", "namespace": "shop"}}]
    found = load_endpoint([write(tmp_path / "config", contexts=contexts)], context="other")
    assert (found.namespace, found.token, found.certificate) == ("shop", "", None)


def test_secrets_are_not_in_what_is_printed(tmp_path: Path) -> None:
    user = {"token": "topsecret", "client-certificate-data": embedded("crt"), "client-key-data": embedded("key")}
    told = repr(load_endpoint([write(tmp_path / "config", user=user)]))
    assert "topsecret" not in told
    assert "key" not in told


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"current-context": ""}, "--context", id="no current context"),
        pytest.param({"current-context": "other"}, 'no context named "other"', id="unknown context"),
        pytest.param({"clusters": []}, 'no cluster named "c"', id="unknown cluster"),
        pytest.param({"users": "none"}, 'no user named "u"', id="users that are no list"),
        pytest.param({"cluster": {"server": "k8s.example"}}, "https://host:port", id="an address without a scheme"),
        pytest.param({"cluster": {"proxy-url": "http://p"}}, '"proxy-url", which is not supported', id="proxy"),
        pytest.param({"user": {"exec": {"command": "login"}}}, '"exec", which is not supported', id="exec plugin"),
        pytest.param({"user": {"as": "root"}}, '"as", which is not supported', id="impersonation"),
        pytest.param({"user": {"client-key-data": "a2V5"}}, "go together", id="key without certificate"),
        pytest.param({"user": {"client-key-data": "?"}}, "not base64", id="not base64"),
        pytest.param({"user": {"tokenFile": "gone"}}, "cannot read", id="a file that is not there"),
    ],
)
def test_a_kubeconfig_that_cannot_be_honoured_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    path = write(tmp_path / "config", **changes)
    with pytest.raises(KubeconfigError, match=words):
        load_endpoint([path])


@pytest.mark.parametrize("text", ["- a\n", "a: [", "\0"])
def test_a_file_that_is_no_kubeconfig_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "config").write_text(text)
    with pytest.raises(KubeconfigError, match="kubeconfig"):
        load_endpoint([tmp_path / "config"])


def test_no_kubeconfig_at_all_is_told(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="no kubeconfig at"):
        load_endpoint([tmp_path / "config"])
