"""`/auth`: log in with a password and get a token; show the logged-in user."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.errors import ApiError
from homeostat.objects.json import encode
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.web.identity.bodies import token_claims, user_body
from homeostat.web.identity.credentials.hashes import Hashes
from homeostat.web.identity.credentials.password import BusyError, Passwords
from homeostat.web.identity.credentials.throttle import Throttle
from homeostat.web.identity.credentials.token import Tokens
from homeostat.web.identity.ldap.sync import Directory, DirectoryError
from homeostat.web.identity.records import Registers, User
from homeostat.web.kit.form import read_body
from homeostat.web.kit.gate import Gate
from homeostat.web.kit.refusal import RefusalError, unauthorized, unknown

LARGEST_LOGIN: Final = 64 * 1024
"""Nobody needs to be logged in to send one, and to decode 3 MiB takes a third of a second and 70 MiB."""
log = logging.getLogger(__name__)


class LoginForm(msgspec.Struct, frozen=True):
    username: Annotated[str, Meta(max_length=255)]
    password: Annotated[str, Meta(max_length=1024)]


class Login:
    """`now` returns the wall clock. All failed logins get the same response, and a login as a user who does not exist
    takes as long as one with a wrong password.
    """

    def __init__(
        self,
        registers: Registers,
        gate: Gate,
        tokens: Tokens,
        *,
        hashes: Hashes,
        passwords: Passwords,
        throttle: Throttle,
        directory: Directory | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._registers, self._gate, self._tokens = registers, gate, tokens
        self._hashes, self._passwords, self._throttle = hashes, passwords, throttle
        self._directory, self._now = directory, now

    async def login(self, request: Request, captured: Mapping[str, str]) -> Reply:
        if len(request.body) > LARGEST_LOGIN:
            raise RefusalError(413, f"the body has {len(request.body)} bytes; a login has at most {LARGEST_LOGIN}")
        form, address = await read_body(request, LoginForm), request.peer.address
        if wait_s := self._throttle.take(form.username, address):
            raise RefusalError(429, "too many failed logins", (("Retry-After", str(wait_s)),))
        user = self._registers.users.named(form.username)
        try:
            is_right = await self._is_right(user, form.password)
        except BusyError:
            self._throttle.give_back(form.username, address)
            raise
        if not is_right or user is None or user.spec.is_suspended or not user.number:
            log.info("rejected login", extra={"address": address})
            raise unauthorized("Invalid credentials")
        self._throttle.succeeded(form.username, address)
        await self._record_login(user)
        token = self._tokens.make(token_claims(user, self._registers.role_of(user)))
        facts = {"token_type": "bearer", "username": user.name, "is_admin": user.spec.is_admin}
        return Reply(200, encode({"access_token": token, **facts}), headers=(("Cache-Control", "no-store"),))

    async def show_me(self, request: Request, captured: Mapping[str, str]) -> Reply:
        caller = await self._gate.identify(request)
        user = self._registers.users.find(caller.id) if caller.id else None
        if user is None:
            raise unknown(f'"{caller.username}" is not a user of this API')
        return Reply(200, encode(user_body(user, self._registers.role_of(user))))

    async def _is_right(self, user: User | None, password: str) -> bool:
        try:
            if user is not None and user.spec.source == "ldap":
                name = user.spec.directory_name
                return self._directory is not None and await self._directory.check(name, password)
            kept = await self._hashes.read(user.spec.password_secret if user is not None else "")
            return await self._passwords.check(password, kept)
        except DirectoryError as error:
            raise RefusalError(503, str(error)) from error

    async def _record_login(self, user: User) -> None:
        moment = format_micro_time(datetime.fromtimestamp(self._now(), UTC))
        try:
            await self._registers.users.observe(user, {"lastLogin": moment})
        except ApiError as error:
            log.warning("failed to record login time", extra={"user": user.name, "error": error.message})
