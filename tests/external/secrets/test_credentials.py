"""Credentials are read from the members of a Secret, and neither values nor errors show them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from homeostat.external.secrets.credentials import (
    BasicAuth,
    BearerToken,
    CredentialError,
    SecretData,
    SshKey,
    read_basic,
    read_bearer,
    read_ssh_key,
)

KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\ns3cret\n-----END OPENSSH PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("read", "data", "expected"),
    [
        (read_basic, {"username": b"me", "password": b"s3cret\n"}, BasicAuth("me", "s3cret")),
        (read_basic, {"password": b"s3cret"}, BasicAuth("", "s3cret")),
        (read_bearer, {"token": b" s3cret\n"}, BearerToken("s3cret")),
        (read_ssh_key, {"ssh-privatekey": KEY.encode(), "known_hosts": b"h k"}, SshKey(KEY, "h k")),
        (read_ssh_key, {"identity": KEY.encode()}, SshKey(KEY)),
    ],
)
def test_each_form_is_read_and_hidden(read: Callable[[SecretData], object], data: SecretData, expected: object) -> None:
    found = read(data)
    assert found == expected
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("read", "data", "told"),
    [
        (read_basic, {"username": b"me", "other": b"s3cret"}, 'is missing or empty; there are: "other", "user'),
        (read_basic, {"username": b"m:e", "password": b"s3cret"}, "a colon"),
        (read_basic, {"username": b"m\ne", "password": b"s3cret"}, "a control character"),
        (read_bearer, {"token": b"s3cret\r\nX: y"}, "a control character"),
        (read_bearer, {"token": b"\xffs3cret"}, "is not UTF-8 text"),
        (read_bearer, {"token": b"s3cret" * 200_000}, "at most 1048576 are read"),
        (read_ssh_key, {"ssh-privatekey": b"ssh-ed25519 s3cret"}, "is not a private key"),
        (read_ssh_key, {}, "there are: none"),
    ],
)  # fmt: skip
def test_another_form_is_refused_without_showing_it(
    read: Callable[[SecretData], object], data: SecretData, told: str
) -> None:
    with pytest.raises(CredentialError, match=told) as error:
        read(data)
    assert "s3cret" not in f"{error.value}{error.value.__cause__}"
