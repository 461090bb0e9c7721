"""Certificates for the admission webhook, in PEM: an authority for this purpose only, and the server's certificate.

The key of the authority is discarded: nothing else can be signed with it, and later certificates get a new one.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from homeostat.edge.tls.certificates import Signer, Subject, Validity, name_of, sign_authority, sign_leaf
from homeostat.operators.policy.admission.webhook_configuration import service_names

AUTHORITY_NAME: Final = "kube-devops-webhook-ca"
ORGANIZATION: Final = "kube-devops"
_LONGEST_NAME = 64


class AddressError(ValueError):
    """The text is not an IP address."""


class Certificates(NamedTuple):
    authority: bytes
    certificate: bytes
    key: bytes
    """The key of the certificate, in PKCS#8."""


def make_certificates(
    service: str, namespace: str, addresses: Iterable[str] = (), *, now: datetime, life: timedelta
) -> Certificates:
    """Certificates for the names of a Service and for IP addresses; `AddressError` for an invalid address."""
    names = service_names(service, namespace)
    hosts = frozenset((*names, *map(_address, addresses)))
    signing_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    # A longer common name is invalid. Clients check the alternative names.
    common_name = names[0] if len(names[0]) <= _LONGEST_NAME else ""
    subject = Subject(common_name, (ORGANIZATION,), hosts)
    signer, validity = Signer(name_of(Subject(AUTHORITY_NAME, (ORGANIZATION,))), signing_key), Validity(now, now + life)
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return Certificates(
        sign_authority(signer, validity),
        sign_leaf(signer, subject, key.public_key(), validity),
        key.private_bytes(encoding, form, serialization.NoEncryption()),
    )


def _address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError as error:
        raise AddressError(f'"{text}" is not an IP address') from error
