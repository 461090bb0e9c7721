"""Issues the certificates of a plane: of its authority, of servers and of clients. Input and output are PEM.

Importing the module loads the X.509 part of the cryptography package, so it is imported only to issue a certificate.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography import x509

from homeostat.edge.tls.certificates import Signer, Subject, Validity, name_of, sign_authority, sign_leaf
from homeostat.server.access.user import MASTERS
from homeostat.server.pki.keys import load_key, new_key

__all__ = [
    "ADMIN",
    "AUTHORITY_LIFE",
    "LEAF_LIFE",
    "Authority",
    "Subject",
    "issue",
    "issue_all",
    "make_authority",
    "server",
]

AUTHORITY_LIFE = timedelta(days=3653)
LEAF_LIFE = timedelta(days=365)


ADMIN = Subject("admin", (MASTERS,))


def server(hosts: frozenset[str]) -> Subject:
    return Subject("homeostat", hosts=hosts)


class Authority(NamedTuple):
    certificate: bytes
    key: bytes


def make_authority(key_pem: bytes, *, now: datetime) -> bytes:
    """A self-signed certificate with a unique name, so that certificates of an earlier authority do not match it."""
    name = name_of(Subject(f"homeostat-ca@{int(now.timestamp())}"))
    return sign_authority(Signer(name, load_key(key_pem)), Validity(now, now + AUTHORITY_LIFE))


def issue(authority: Authority, subject: Subject, *, key: bytes, now: datetime) -> bytes:
    """A certificate for a key, valid for `LEAF_LIFE` but not beyond the authority; `ValueError` for a wrong key."""
    signer = x509.load_pem_x509_certificate(authority.certificate)
    signing_key = load_key(authority.key)
    if signer.public_key() != signing_key.public_key():
        raise ValueError("the key of the certificate authority does not match its certificate")
    validity = Validity(now, min(now + LEAF_LIFE, signer.not_valid_after_utc))
    return sign_leaf(Signer(signer.subject, signing_key), subject, load_key(key).public_key(), validity)


def issue_all(hosts: frozenset[str], *, now: datetime) -> dict[str, bytes]:
    """What a plane needs at its first start, by the name of the file."""
    keys = {name: new_key() for name in ("ca", "server", "admin", "sa")}
    authority = Authority(make_authority(keys["ca"], now=now), keys["ca"])
    return {
        "ca.key": authority.key,
        "ca.crt": authority.certificate,
        "server.key": keys["server"],
        "server.crt": issue(authority, server(hosts), key=keys["server"], now=now),
        "admin.key": keys["admin"],
        "admin.crt": issue(authority, ADMIN, key=keys["admin"], now=now),
        "sa.key": keys["sa"],
    }
