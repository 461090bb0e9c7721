from __future__ import annotations

from base64 import b64decode

from homeostat.server.pki.kubeconfig import ClientCertificate, kubeconfig


def test_a_certificate_is_embedded_with_its_key_and_authority() -> None:
    made = kubeconfig("https://127.0.0.1:7443", authority=b"CA", credential=ClientCertificate(b"CRT", b"KEY"))
    [cluster], [user], [context] = made["clusters"], made["users"], made["contexts"]
    assert cluster["cluster"]["server"] == "https://127.0.0.1:7443"
    assert b64decode(cluster["cluster"]["certificate-authority-data"]) == b"CA"
    assert b64decode(user["user"]["client-certificate-data"]) == b"CRT"
    assert b64decode(user["user"]["client-key-data"]) == b"KEY"
    assert context["context"] == {"cluster": cluster["name"], "user": user["name"]}
    assert made["current-context"] == context["name"]


def test_a_token_stands_as_it_is() -> None:
    assert kubeconfig("https://x", authority=b"CA", credential="hst-1-2")["users"][0]["user"] == {"token": "hst-1-2"}


def test_an_open_plane_needs_neither_authority_nor_credential() -> None:
    made = kubeconfig("http://127.0.0.1:7443")
    assert made["clusters"][0]["cluster"] == {"server": "http://127.0.0.1:7443"}
    assert made["users"][0]["user"] == {}
