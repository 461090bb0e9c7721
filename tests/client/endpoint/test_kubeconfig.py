"""Which server and which credential a kubeconfig means."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
import yaml

from homeostat.client.endpoint.kubeconfig import Endpoint, KubeconfigError, load_endpoint


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


V1 = "client.authentication.k8s.io/v1"
LOGIN = {"apiVersion": V1, "command": "login"}


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
    assert found.token_file == tmp_path / "token"


@pytest.mark.parametrize(
    ("command", "found"), [("login", "login"), ("./bin/login", "{home}/bin/login"), ("/bin/login", "/bin/login")]
)
def test_a_plugin_is_on_the_path_or_beside_the_kubeconfig(tmp_path: Path, command: str, found: str) -> None:
    path = write(tmp_path / "config", user={"exec": {"apiVersion": V1, "command": command, "args": ["a", 1]}})
    plugin = load_endpoint([path]).plugin
    assert plugin is not None
    assert (plugin.command, plugin.arguments) == (found.format(home=tmp_path), ("a", "1"))
    assert plugin.cluster is None


def test_a_plugin_that_asks_gets_the_cluster(tmp_path: Path) -> None:
    extensions = [{"name": "client.authentication.k8s.io/exec", "extension": {"audience": "x"}}]
    path = write(
        tmp_path / "config",
        cluster={"certificate-authority-data": embedded("ca"), "extensions": extensions},
        user={"exec": {**LOGIN, "provideClusterInfo": True}},
    )
    plugin = load_endpoint([path]).plugin
    assert plugin is not None
    assert plugin.cluster == {
        "server": "https://k8s.example:6443/",
        "certificate-authority-data": embedded("ca"),
        "config": {"audience": "x"},
    }


def test_impersonation_becomes_headers(tmp_path: Path) -> None:
    user = {"as": "jane", "as-uid": "7", "as-groups": ["a", "b"], "as-user-extra": {"acme.com/scope": ["x", "z"]}}
    assert load_endpoint([write(tmp_path / "config", user=user)]).impersonation == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "7"),
        ("Impersonate-Group", "a"),
        ("Impersonate-Group", "b"),
        ("Impersonate-Extra-acme.com%2Fscope", "x"),
        ("Impersonate-Extra-acme.com%2Fscope", "z"),
    )


def test_a_proxy_is_honoured_and_not_printed(tmp_path: Path) -> None:
    found = load_endpoint([write(tmp_path / "config", cluster={"proxy-url": "http://me:secret@p:3128"})])
    assert found.proxy == "http://me:secret@p:3128"
    assert "secret" not in repr(found)


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
    with pytest.raises(KubeconfigError, match="credentials go into users") as caught:
        load_endpoint([write(tmp_path / "config", cluster={"server": "https://me:topsecret@k8s.example"})])
    assert "topsecret" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"current-context": ""}, "--context", id="no current context"),
        pytest.param({"current-context": "other"}, 'no context named "other"', id="unknown context"),
        pytest.param({"clusters": []}, 'no cluster named "c"', id="unknown cluster"),
        pytest.param({"users": "none"}, 'no user named "u"', id="users that are no list"),
        pytest.param({"cluster": {"server": "k8s.example"}}, "https://host:port", id="an address without a scheme"),
        pytest.param({"cluster": {"server": "https://k8s.example:99999"}}, "https://host:port", id="no such port"),
        pytest.param({"cluster": {"server": "https://[::1"}}, "https://host:port", id="half an address"),
        pytest.param({"cluster": {"proxy-url": "http://p:x"}}, "proxy-url is not supported", id="a proxy's port"),
        pytest.param({"cluster": {"proxy-url": "socks5://p"}}, "proxy-url is not supported", id="socks proxy"),
        pytest.param({"user": {"username": "root"}}, '"username", which is not supported', id="password"),
        pytest.param({"user": {"auth-provider": {"name": "gcp"}}}, "not supported", id="auth provider"),
        pytest.param({"user": {"exec": {"apiVersion": V1}}}, "exec has no command", id="exec without a command"),
        pytest.param({"user": {"exec": {"command": "login"}}}, 'apiVersion "None"', id="exec of no version"),
        pytest.param({"user": {"exec": {**LOGIN, "interactiveMode": "Always"}}}, "wants a terminal", id="terminal"),
        pytest.param({"user": {"exec": {**LOGIN, "args": "-x"}}}, "args should be a list", id="exec.args"),
        pytest.param({"user": {"exec": {**LOGIN, "env": [{}]}}}, "has no name", id="exec.env"),
        pytest.param({"user": {"as-groups": ["a"]}}, 'want "as"', id="groups of nobody"),
        pytest.param({"user": {"as": "a", "as-user-extra": ["b"]}}, "mapping", id="extras that are no mapping"),
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


def test_a_missing_kubeconfig_is_reported(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError, match="no kubeconfig at"):
        load_endpoint([tmp_path / "config"])
