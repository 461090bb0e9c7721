"""Bearer tokens for people and programs, stored as hashes in a file.

A token is `hst-<id>-<secret>`: the id finds the entry, and the secret is 256 random bits, so a plain SHA-256 is safe.
The token's text is shown once, when it is created. The file is read again when it changes, so a command can add or
revoke a token while the plane runs.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from homeostat.server.access.user import AUTHENTICATED, User
from homeostat.server.pki.private_file import make_private_directory, read_private, write_private
from homeostat.store.files import exclusive

_log = logging.getLogger(__name__)
_PREFIX = "hst"


class Token(msgspec.Struct, frozen=True, omit_defaults=True):
    """A stored token. Times are seconds since the epoch; `expires` 0 means never."""

    id: str
    sha256: str
    user: str
    created: int
    groups: tuple[str, ...] = ()
    expires: int = 0
    description: str = ""


class TokenFileError(Exception):
    """The file exists and cannot be read; it is not changed."""


class Tokens:
    """The tokens of a file. Only `find` may be called on the event loop; the other methods block."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen: tuple[int, int, int] | None = None
        self._by_id: dict[str, Token] = {}

    def find(self, text: str, *, now: float) -> tuple[User, float] | None:
        """The user of a token and its expiry (infinity: never); None if the token is unknown or expired."""
        prefix, _, rest = text.partition("-")
        token_id, _, secret = rest.partition("-")
        if prefix != _PREFIX or not secret or not text.isascii():
            return None
        try:
            self._refresh()
        except TokenFileError as error:
            _log.error("refusing bearer tokens: token file is invalid", extra={"error": str(error)})
        token = self._by_id.get(token_id)
        if token is None or not hmac.compare_digest(token.sha256.encode(), _digest(secret).encode()):
            return None
        if token.expires and token.expires <= now:
            return None
        return _user_of(token), token.expires or float("inf")

    def list(self) -> Sequence[Token]:
        self._refresh()
        return sorted(self._by_id.values(), key=lambda token: (token.created, token.id))

    def create(
        self, user: str, *, now: float, groups: Sequence[str] = (), life_s: int = 0, description: str = ""
    ) -> str:
        """Create a token and return its text, which is not stored. `life_s` 0 means that it does not expire."""
        token_id, secret = secrets.token_hex(5), secrets.token_hex(32)
        made = Token(
            token_id,
            _digest(secret),
            user,
            created=int(now),
            groups=tuple(groups),
            expires=int(now) + life_s if life_s else 0,
            description=description,
        )
        self._change(lambda tokens: [*tokens, made])
        return f"{_PREFIX}-{token_id}-{secret}"

    def revoke(self, token_id: str) -> bool:
        """Delete a token; False if it does not exist."""
        is_known = token_id in {token.id for token in self.list()}
        self._change(lambda tokens: [token for token in tokens if token.id != token_id])
        return is_known

    def _change(self, edit: Callable[[Sequence[Token]], Sequence[Token]]) -> None:
        make_private_directory(self._path.parent)
        with exclusive(self._path.with_name(f".{self._path.name}.lock")):
            self._refresh()
            kept = edit(self.list())
            write_private(self._path, msgspec.json.format(msgspec.json.encode(kept)))
        self._refresh()

    def _refresh(self) -> None:
        """Read the file if it has changed. While it cannot be read, no token is valid."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self._seen, self._by_id = None, {}
            return
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen == self._seen:
            return
        self._seen, self._by_id = seen, {}
        try:
            tokens = msgspec.json.decode(read_private(self._path) or b"[]", type=tuple[Token, ...])
        except (msgspec.DecodeError, OSError) as error:
            raise TokenFileError(
                f"{self._path} is not a valid token file: {error}; repair it or move it away"
            ) from error
        self._by_id = {token.id: token for token in tokens}


def _user_of(token: Token) -> User:
    return User(token.user, groups=tuple(dict.fromkeys((*token.groups, AUTHENTICATED))))


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
