"""Passwords as PostgreSQL keeps them: neither the server nor its log sees one in clear. Pure."""

import hmac
from base64 import b64decode, b64encode
from hashlib import pbkdf2_hmac, sha256

_NAME = "SCRAM-SHA-256"
_ROUNDS = 4096


def make_verifier(password: str, salt: bytes, rounds: int = _ROUNDS) -> str:
    """`ValueError` for what would have to be normalised first."""
    if not (password.isascii() and password.isprintable()):
        raise ValueError("a password has printable ASCII characters only")
    salted = pbkdf2_hmac("sha256", password.encode(), salt, rounds)
    stored = sha256(hmac.digest(salted, b"Client Key", "sha256")).digest()
    server = hmac.digest(salted, b"Server Key", "sha256")
    return f"{_NAME}${rounds}:{_text(salt)}${_text(stored)}:{_text(server)}"


def is_verifier_of(verifier: str, password: str) -> bool:
    match verifier.split("$"):
        case [name, parameters, _] if name == _NAME:
            rounds, _, salt = parameters.partition(":")
            return hmac.compare_digest(verifier, make_verifier(password, b64decode(salt), int(rounds)))
        case _:
            return False


def _text(data: bytes) -> str:
    return b64encode(data).decode()
