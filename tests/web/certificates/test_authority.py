"""The certificates of the webhook: whom they name, and that TLS takes them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import NameOID
from cryptography.x509.verification import PolicyBuilder, Store

from homeostat.web.certificates.authority import AddressError, make_certificates

NOW = datetime(2026, 11, 16, tzinfo=UTC)
LIFE = timedelta(days=30)


def test_three_pem_files_for_one_service() -> None:
    made = make_certificates("hook", "ops", ["10.0.0.7", "::1"], now=NOW, life=LIFE)
    authority, leaf = (x509.load_pem_x509_certificate(each) for each in (made.authority, made.certificate))
    assert made.key.startswith(b"-----BEGIN PRIVATE KEY-----")
    assert load_pem_private_key(made.key, None).public_key() == leaf.public_key()
    assert authority.public_key() != leaf.public_key()
    assert authority.subject.rfc4514_string() == "CN=kube-devops-webhook-ca,O=kube-devops"
    (name,) = leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
    assert name.value == "hook.ops.svc"
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["hook.ops.svc", "hook.ops.svc.cluster.local"]
    assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.7", "::1"]
    assert leaf.not_valid_after_utc == NOW + LIFE


@pytest.mark.parametrize("service", ["hook", "h" * 63])
def test_the_authority_vouches_for_the_server(service: str) -> None:
    made = make_certificates(service, "ops", now=NOW, life=LIFE)
    authority, leaf = (x509.load_pem_x509_certificate(each) for each in (made.authority, made.certificate))
    verifier = PolicyBuilder().store(Store([authority])).time(NOW)
    verifier.build_server_verifier(x509.DNSName(f"{service}.ops.svc")).verify(leaf, [])


@pytest.mark.parametrize("text", ["localhost", "10.0.0.300", ""])
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(AddressError, match="is not an IP address"):
        make_certificates("hook", "ops", [text], now=NOW, life=LIFE)
