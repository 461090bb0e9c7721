"""The encrypted file of secrets, in the format of the original: JSON around AES-256-GCM, the key from Argon2id.

    {version, salt, nonce, ciphertext, kdf_time, kdf_memory, kdf_threads}

A file with a raw key has neither salt nor parameters. Each write uses a new salt and nonce.
"""

from __future__ import annotations

import binascii
import threading
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import msgspec

from homeostat.operators.sync.engine.errors import AuthError, ValidationError

_VERSION: Final = 1
_deriving = threading.Lock()
_MOST_MEMORY: Final = 4 << 20
"""KiB: more than any file of ours asks for, and less than harms a machine."""


@dataclass(frozen=True, slots=True)
class Kdf:
    time: int = 3
    memory: int = 65536
    threads: int = 4

    def __post_init__(self) -> None:
        if not (1 <= self.time <= 100 and 8 <= self.memory <= _MOST_MEMORY and 1 <= self.threads <= 64):
            raise ValidationError("the parameters of the key derivation are out of range")


@dataclass(frozen=True, slots=True)
class Lock:
    """How the file is locked: by a passphrase, or by a raw key of 32 bytes."""

    passphrase: str = field(default="", repr=False)
    key: bytes = field(default=b"", repr=False)
    kdf: Kdf = Kdf()


class _Envelope(msgspec.Struct, omit_defaults=True):
    version: int
    nonce: str
    ciphertext: str
    salt: str = ""
    kdf_time: int = 0
    kdf_memory: int = 0
    kdf_threads: int = 0


class _Content(msgspec.Struct):
    secrets: dict[str, str]


def read_key(text: str) -> bytes:
    """32 bytes, given as they are, in hex or in base64."""
    plain = text.strip()
    if len(plain.encode()) == 32:
        return plain.encode()
    for decode in (bytes.fromhex, lambda each: b64decode(each, validate=True)):
        try:
            if len(found := decode(plain)) == 32:
                return found
        except (ValueError, binascii.Error):
            continue
    raise ValidationError("the key of the secret store is not 32 bytes, raw, in hex or in base64")


def open_envelope(data: bytes, lock: Lock) -> dict[str, str]:
    """`AuthError` for a wrong key, `ValidationError` for a file of another form."""
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        found = msgspec.json.decode(data, type=_Envelope)
        salt, nonce, ciphertext = (
            b64decode(each, validate=True) for each in (found.salt, found.nonce, found.ciphertext)
        )
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise ValidationError("the file is not a secret store") from error
    if found.version != _VERSION:
        raise ValidationError(f"the secret store has version {found.version}; expected {_VERSION}")
    if bool(salt) != bool(lock.passphrase):
        needed = "passphrase" if salt else "key"
        raise AuthError(f"the secret store is encrypted with a {needed}; configure that {needed}")
    key = (
        _derived(lock.passphrase, salt, Kdf(found.kdf_time, found.kdf_memory, found.kdf_threads)) if salt else lock.key
    )
    try:
        return msgspec.json.decode(AESGCM(key).decrypt(nonce, ciphertext, None), type=_Content).secrets
    except (InvalidTag, ValueError):
        raise AuthError("cannot open the secret store: the passphrase or key is wrong") from None


def seal_envelope(secrets: Mapping[str, str], lock: Lock, random: bytes) -> bytes:
    """`random` has 28 bytes: salt and nonce."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    salt, nonce = random[:16], random[16:28]
    content = msgspec.json.encode(_Content(dict(sorted(secrets.items()))))
    kdf = lock.kdf
    key = _derived(lock.passphrase, salt, kdf) if lock.passphrase else lock.key
    ciphertext = b64encode(AESGCM(key).encrypt(nonce, content, None)).decode()
    made = _Envelope(version=_VERSION, nonce=b64encode(nonce).decode(), ciphertext=ciphertext)
    if lock.passphrase:
        made.salt = b64encode(salt).decode()
        made.kdf_time, made.kdf_memory, made.kdf_threads = kdf.time, kdf.memory, kdf.threads
    return msgspec.json.encode(made)


def _derived(passphrase: str, salt: bytes, kdf: Kdf) -> bytes:
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id

    try:
        made = Argon2id(salt=salt, length=32, iterations=kdf.time, lanes=kdf.threads, memory_cost=kdf.memory)
        # OpenSSL hangs for ever if two threads derive keys that use threads of their own.
        with _deriving:
            return made.derive(passphrase.strip().encode())
    except ValueError as error:
        raise ValidationError(f"the parameters of the key derivation are invalid: {error}") from error
