"""`/users/ldap-sync`: creates and updates users of this API from an LDAP directory.

Users are matched by name. A new user has no permissions until an administrator assigns a role. A user with a local
password is skipped: otherwise whoever can name people in the directory could take over an administrator's account.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from homeostat.client.base import UnreachableError
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.errors import AlreadyExistsError, ApiError, InvalidError, NotFoundError
from homeostat.objects.json import encode
from homeostat.objects.time.timestamp import format_micro_time
from homeostat.runtime.cache.unreadable import UnreadableError
from homeostat.web.identity.api import RestUserSpec
from homeostat.web.identity.forms import Username
from homeostat.web.identity.records import Registers, User
from homeostat.web.kit.callers import require_admin
from homeostat.web.kit.gate import Gate
from homeostat.web.kit.refusal import RefusalError

log = logging.getLogger(__name__)

_LONGEST_TEXT = 255


class Person(NamedTuple):
    """A user of the directory."""

    directory_name: str
    username: str
    email: str = ""
    display_name: str = ""


class DirectoryError(Exception):
    """The directory is unreachable, or its response is invalid. The text holds no password."""


class Directory(Protocol):
    async def check(self, directory_name: str, password: str) -> bool:
        """Whether the password is right for this distinguished name."""

    async def people(self) -> list[Person]: ...


class Sync:
    """`now` returns the wall clock."""

    def __init__(
        self, registers: Registers, gate: Gate, directory: Directory | None, *, now: Callable[[], float] = time.time
    ) -> None:
        self._users, self._gate, self._directory, self._now = registers.users, gate, directory, now

    async def sync(self, request: Request, captured: Mapping[str, str]) -> Reply:
        await require_admin(self._gate, request)
        if self._directory is None:
            raise RefusalError(503, "LDAP is not configured: set LDAP_URL")
        try:
            created, updated = await self._synchronize(self._directory)
        except DirectoryError as error:
            raise RefusalError(503, str(error)) from error
        return Reply(200, encode({"created": created, "updated": updated, "total": created + updated}))

    async def regularly(self, interval_s: float) -> None:
        """A failure is logged, and retried at the next interval."""
        while self._directory is not None and interval_s > 0:
            await asyncio.sleep(interval_s)
            try:
                await self._synchronize(self._directory)
            except (DirectoryError, ApiError, UnreachableError) as error:
                log.warning("failed to synchronize users from LDAP", extra={"reason": str(error)})

    async def _synchronize(self, directory: Directory) -> tuple[int, int]:
        created = updated = 0
        for person in await directory.people():
            try:
                found = self._users.named(person.username)
            except UnreadableError as error:
                log.warning("failed to synchronize user from LDAP", extra={"reason": str(error)})
                continue
            if found is None:
                created += await self._create(person)
            elif found.spec.source == "ldap":
                await self._update(found, person)
                updated += 1
            else:
                log.warning("skipped LDAP user: a local user has the same name", extra={"user": person.username})
        return created, updated

    async def _create(self, person: Person) -> bool:
        try:
            msgspec.convert(person.username, Username)
        except msgspec.ValidationError:
            log.warning("skipped LDAP user: invalid username", extra={"user": person.username[:100]})
            return False
        try:
            number = await self._users.take_number()
            user = await self._users.add(person.username, _spec(RestUserSpec(source="ldap"), person), number=number)
        except AlreadyExistsError:
            return False
        except InvalidError as error:
            _report_skipped(person, error)
            return False
        await self._record_sync(user)
        return True

    async def _update(self, user: User, person: Person) -> None:
        try:
            await self._users.edit(user, lambda spec: _spec(spec, person))
        except NotFoundError:
            return
        except InvalidError as error:
            _report_skipped(person, error)
            return
        await self._record_sync(user)

    async def _record_sync(self, user: User) -> None:
        moment = format_micro_time(datetime.fromtimestamp(self._now(), UTC))
        await self._users.observe(user, {"lastSynced": moment})


def _report_skipped(person: Person, error: InvalidError) -> None:
    """One entry that cannot be stored must not keep the others out."""
    log.warning("skipped LDAP user: invalid entry", extra={"user": person.username, "reason": error.message[:300]})


def _spec(spec: RestUserSpec, person: Person) -> RestUserSpec:
    if spec.source != "ldap":
        return spec
    return replace(
        spec,
        email=person.email[:_LONGEST_TEXT],
        display_name=person.display_name[:_LONGEST_TEXT],
        directory_name=person.directory_name,
    )
