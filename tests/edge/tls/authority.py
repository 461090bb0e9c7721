"""An authority of its own, and certificates that it issued."""

from __future__ import annotations

import datetime
import ssl
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


class Issued(NamedTuple):
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    certificate_file: Path
    key_file: Path


def _usage(*, signs: bool) -> x509.KeyUsage:
    names = "content_commitment key_encipherment data_encipherment key_agreement encipher_only decipher_only"
    unused = dict.fromkeys(names.split(), False)
    return x509.KeyUsage(digital_signature=True, key_cert_sign=signs, crl_sign=signs, **unused)


def issue(directory: Path, name: str, issuer: Issued | None = None, *, host: str = "localhost") -> Issued:
    key = ec.generate_private_key(ec.SECP256R1())
    signer = issuer.key if issuer else key
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        # Python 3.13 verifies strictly: every certificate says whose key it has and whose key signed it.
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()), critical=False)
        .add_extension(_usage(signs=issuer is None), critical=True)
        .sign(signer, hashes.SHA256())
    )
    certificate_file, key_file = directory / f"{name}.crt", directory / f"{name}.key"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return Issued(certificate, key, certificate_file, key_file)


class Authority(NamedTuple):
    directory: Path
    ca: Issued
    server: ssl.SSLContext

    def client(self, name: str | None = None, issuer: Issued | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.ca.certificate_file)
        if name:
            issued = issue(self.directory, name, issuer or self.ca)
            context.load_cert_chain(issued.certificate_file, issued.key_file)
        return context
