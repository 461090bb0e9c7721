"""Credentials as typed values, and how they are read from the forms in which a Secret holds them. Pure.

| value | type of the Secret | members |
|---|---|---|
| `BasicAuth` | `kubernetes.io/basic-auth` | `username`, `password` |
| `BearerToken` | `Opaque` | `token`, or another that is named |
| `SshKey` | `kubernetes.io/ssh-auth` | `ssh-privatekey` or `identity`; `known_hosts` |
| `TlsCredentials` | `kubernetes.io/tls` | `tls.crt`, `tls.key`, `ca.crt` |

The type of a Secret is not checked, its members are. No value shows a secret in its repr, and no error does.
`docker_config.py` reads the credentials of registries.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

LARGEST_SECRET: Final = 1 << 20
"""Bytes; Kubernetes has the same limit for a whole Secret."""

SecretData = Mapping[str, bytes]
"""The members of a Secret, decoded."""


class CredentialError(ValueError):
    """The secret does not have the expected form; the text names members and never values."""

    reason = "InvalidCredentials"


@dataclass(frozen=True, slots=True)
class BasicAuth:
    username: str
    password: str = field(repr=False)

    @property
    def header(self) -> str:
        return f"Basic {base64.b64encode(f'{self.username}:{self.password}'.encode()).decode()}"


@dataclass(frozen=True, slots=True)
class BearerToken:
    token: str = field(repr=False)

    @property
    def header(self) -> str:
        return f"Bearer {self.token}"


@dataclass(frozen=True, slots=True)
class SshKey:
    """Only the hosts in `known_hosts` are trusted, which has the form of OpenSSH's file."""

    private_key: str = field(repr=False)
    known_hosts: str = ""
    passphrase: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsCredentials:
    """Certificates and keys in PEM. Without an authority, those of the system are trusted."""

    authority: str = ""
    certificate: str = ""
    key: str = field(default="", repr=False)
    is_verified: bool = True
    """Whether the server's certificate is checked."""


def read_basic(data: SecretData) -> BasicAuth:
    username = _text(data, "username", is_required=False)
    if ":" in username:
        raise CredentialError('"username" has a colon, which basic authentication cannot carry')
    return BasicAuth(_one_line(username, "username"), _text(data, "password").removesuffix("\n"))


def read_bearer(data: SecretData, member: str = "token") -> BearerToken:
    return BearerToken(_one_line(_text(data, member).strip(), member))


def read_ssh_key(data: SecretData) -> SshKey:
    name = next((each for each in ("ssh-privatekey", "identity") if each in data), "ssh-privatekey")
    private_key = _text(data, name)
    if "PRIVATE KEY-----" not in private_key:
        raise CredentialError(f'"{name}" is not a private key; expected PEM or OpenSSH\'s own format')
    hosts = _text(data, "known_hosts", is_required=False)
    return SshKey(private_key, hosts, _text(data, "password", is_required=False).removesuffix("\n"))


def _text(data: SecretData, name: str, *, is_required: bool = True) -> str:
    value = data.get(name, b"")
    if not value:
        if is_required:
            there = ", ".join(f'"{each}"' for each in sorted(data)) or "none"
            raise CredentialError(f'member "{name}" is missing or empty; there are: {there}')
        return ""
    if len(value) > LARGEST_SECRET:
        raise CredentialError(f'member "{name}" has {len(value)} bytes; at most {LARGEST_SECRET} are read')
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CredentialError(f'member "{name}" is not UTF-8 text') from None


def _one_line(text: str, name: str) -> str:
    text = text.removesuffix("\n")
    if any(ord(each) < 32 or ord(each) == 127 for each in text):
        raise CredentialError(f'"{name}" has a control character, which a header cannot carry')
    return text
