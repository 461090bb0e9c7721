"""What a command says about a credential that the server does not accept."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding

from homeostat.cli.auth.credential import refused_credential
from homeostat.client.endpoint.endpoint import Endpoint, ExecPlugin

SERVER = "https://127.0.0.1:1"


def token_until(expiry: int) -> str:
    claims = urlsafe_b64encode(b'{"sub":"anna","exp":%d}' % expiry).decode().rstrip("=")
    return f"e30.{claims}.c2lnbmF0dXJl"


def certificate_until(end: datetime) -> bytes:
    key, name = generate_private_key(SECP256R1()), x509.Name([])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, end - timedelta(days=2), end)
    return builder.sign(key, SHA256()).public_bytes(Encoding.PEM)


@pytest.mark.parametrize(
    ("endpoint", "words"),
    [
        pytest.param(
            Endpoint(server=SERVER, token=token_until(1_700_000_000)),
            "token of a.kubeconfig, which expired at 2023-11-14T22:13:20Z; create a new one",
            id="expired",
        ),
        pytest.param(
            Endpoint(server=SERVER, token=token_until(9_000_000_000)), "token of a.kubeconfig; create", id="lasting"
        ),
        pytest.param(Endpoint(server=SERVER, token="x.%%%.y"), "token of a.kubeconfig; create", id="unreadable"),
        pytest.param(Endpoint(server=SERVER, token="hst-1-2"), "homeostat token list", id="of a plane"),
        pytest.param(Endpoint(server=SERVER, token_file=Path("/run/t")), "token in /run/t, which a.kubec", id="file"),
        pytest.param(Endpoint(server=SERVER, plugin=ExecPlugin(command="aws")), "the program aws", id="program"),
        pytest.param(Endpoint(server=SERVER), "a.kubeconfig has no credential for https://127.0.0.1:1", id="none"),
        pytest.param(
            Endpoint(server=SERVER, certificate=certificate_until(datetime(2024, 5, 1, tzinfo=UTC))),
            "certificate of a.kubeconfig, which expired at 2024-05-01T00:00:00Z",
            id="certificate",
        ),
    ],
)
def test_a_refused_credential_has_its_place_and_its_expiry_and_is_not_shown(endpoint: Endpoint, words: str) -> None:
    text = refused_credential(endpoint, "a.kubeconfig")
    assert words in text
    assert not endpoint.token or endpoint.token not in text
