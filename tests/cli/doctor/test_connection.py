"""What `homeostat doctor` says where it cannot get to a server: each cause has another remedy."""

from __future__ import annotations

import base64
import os
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from homeostat.objects import yaml
from homeostat.objects.json import JsonObject
from homeostat.server.pki.directory import Pki, prepare_pki
from tests.cli.policy_files import write
from tests.cli.running import Cli, Ended, Up


def pki_of(folder: Path, *, days_ago: int = 0) -> Pki:
    return prepare_pki(Pki(folder), hosts=["localhost", "127.0.0.1"], now=datetime.now(UTC) - timedelta(days=days_ago))


@contextmanager
def serving(pki: Pki | None) -> Iterator[str]:
    """The address of a server that does not get to answer."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    if pki is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pki.server, pki.server.with_suffix(".key"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def kubeconfig(folder: Path, up: Up, change: Callable[[JsonObject, JsonObject], None]) -> Path:
    """That of the plane, with a changed cluster or user."""
    config = yaml.load((up.data / "kubeconfig").read_bytes())
    change(config["clusters"][0]["cluster"], config["users"][0]["user"])
    path = write(folder / "changed.kubeconfig", config)
    path.chmod(0o600)
    return path


def encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def one(done: Ended, check: str) -> JsonObject:
    (found,) = [each for each in done.json["findings"] if each["check"] == check]
    return dict(found)


def diagnosed(up: Up, path: Path) -> Ended:
    return up.cli.here("doctor", "--kubeconfig", path, "-o", "json")


def test_another_authority_is_no_reason_to_start_the_server(up: Up, tmp_path: Path) -> None:
    other = pki_of(tmp_path / "other")
    path = kubeconfig(
        tmp_path, up, lambda cluster, _: cluster.update({"certificate-authority-data": encoded(other.authority)})
    )
    done = diagnosed(up, path)
    assert done.code == 3
    assert "its certificate is not trusted" in one(done, "connection")["detail"]
    assert "trusts another authority" in one(done, "connection")["remedy"]
    assert one(done, "server certificate")["result"] == "OK"
    said = up.cli.here("get", "namespaces", "--kubeconfig", path)
    assert (said.code, "trusts another authority" in said.err, "is it running" in said.err) == (3, True, False)


def test_a_name_that_the_certificate_lacks_says_so(up: Up, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, up, lambda cluster, _: cluster.update({"tls-server-name": "elsewhere.example"}))
    assert "a plane adds the one of --address" in one(diagnosed(up, path), "connection")["remedy"]


def test_an_expired_certificate_of_the_server_is_found(up: Up, tmp_path: Path) -> None:
    expired = pki_of(tmp_path / "expired", days_ago=400)
    with serving(expired) as address:
        path = kubeconfig(
            tmp_path,
            up,
            lambda cluster, _: cluster.update(
                {"server": address, "certificate-authority-data": encoded(expired.authority)}
            ),
        )
        done = diagnosed(up, path)
    assert "certificate has expired" in one(done, "connection")["detail"]
    assert "renew it" in one(done, "connection")["remedy"]
    assert (one(done, "server certificate")["result"], one(done, "client certificate")["result"]) == ("FAIL", "OK")


def test_a_server_that_speaks_no_tls_is_found(up: Up, tmp_path: Path) -> None:
    with serving(None) as address:
        path = kubeconfig(tmp_path, up, lambda cluster, _: cluster.update({"server": address}))
        done = diagnosed(up, path)
    assert "no TLS is spoken there" in one(done, "connection")["remedy"]


def test_a_plain_request_to_a_server_of_tls_is_no_matter_of_credentials(up: Up, tmp_path: Path) -> None:
    def plain(cluster: JsonObject, _: JsonObject) -> None:
        cluster["server"] = cluster["server"].replace("https", "http")

    found = one(diagnosed(up, kubeconfig(tmp_path, up, plain)), "access")
    assert ("HTTP request to an HTTPS server" in found["detail"], "http or https" in found["remedy"]) == (True, True)


def test_a_context_that_is_named_and_missing_fails_beside_a_data_directory(up: Up) -> None:
    done = up.cli.here("doctor", "--data", up.data, "--context", "prod", "-o", "json")
    assert (done.code, one(done, "kubeconfig")["result"]) == (1, "FAIL")


def test_a_name_that_nobody_resolves_is_found(up: Up, tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, up, lambda cluster, _: cluster.update({"server": "https://nowhere.invalid:6443"}))
    assert "check the name of the server" in one(diagnosed(up, path), "connection")["remedy"]


def test_a_refused_token_says_where_it_is_from_and_how_to_get_another(up: Up, tmp_path: Path) -> None:
    def with_token(_: JsonObject, user: JsonObject) -> None:
        user.clear()
        user["token"] = "hst-0123456789-" + "0" * 64

    path = kubeconfig(tmp_path, up, with_token)
    done = diagnosed(up, path)
    assert done.code == 1
    found = one(done, "access")
    assert (f"the token of {path}" in found["detail"], "homeostat token create" in found["remedy"]) == (True, True)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "does not exist"),
        (b"]", "cannot read the kubeconfig"),
        (b"current-context: gone", 'has no context named "gone"'),
    ],
)
def test_a_kubeconfig_that_cannot_be_used_says_why_and_what_to_do(
    cli: Cli, tmp_path: Path, content: bytes | None, why: str
) -> None:
    path = tmp_path / "own.kubeconfig"
    if content is not None:
        path.write_bytes(content)
    done = cli.here("doctor", "--kubeconfig", path, "-o", "json")
    found = one(done, "kubeconfig")
    assert (done.code, why in found["detail"], "homeostat up" in found["remedy"]) == (1, True, True)
    assert "homeostat up" not in found["detail"], "said once"


def test_a_database_that_cannot_be_read_is_not_called_damaged(up: Up, cli: Cli, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    os.mkdir(data / "homeostat.db")
    found = one(cli.here("doctor", "--data", data, "-o", "json"), "database")
    assert (found["result"], "cannot read" in found["detail"], "free space" in found["remedy"]) == ("FAIL", True, True)


def test_a_database_in_a_directory_that_does_not_exist_says_how_to_write_its_path(up: Up, tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path.name}/nowhere/plane.db"
    done = up.cli.here("doctor", "--data", up.data, "--database", database, "-o", "json")
    assert (done.code, one(done, "disk")["result"]) == (1, "FAIL")
    assert "four slashes" in one(done, "disk")["remedy"]
