"""The first administrator, created from environment variables if no user exists."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from homeostat.external.environment import SettingError
from homeostat.web.identity.api import RestUserSpec
from homeostat.web.identity.forms import Password, Username
from homeostat.web.identity.records import Registers
from homeostat.web.identity.users import Users
from homeostat.web.kit.refusal import RefusalError

log = logging.getLogger(__name__)

USERNAME: Final = "INITIAL_ADMIN_USERNAME"
PASSWORD: Final = "INITIAL_ADMIN_PASSWORD"  # noqa: S105


class FirstAdmin(msgspec.Struct, frozen=True):
    username: Username
    password: Password

    def __repr__(self) -> str:
        return f"FirstAdmin({self.username!r})"


def first_admin(environment: Mapping[str, str]) -> FirstAdmin | None:
    """None unless both are set; `SettingError` if one of them is invalid."""
    username, password = environment.get(USERNAME), environment.get(PASSWORD)
    if not username or not password:
        return None
    return FirstAdmin(_checked(USERNAME, username, Username), _checked(PASSWORD, password, Password))


def _checked(variable: str, value: str, form: Any) -> str:
    try:
        return str(msgspec.convert(value, form))
    except msgspec.ValidationError as error:
        raise SettingError(f"{variable} is invalid: {error}") from error


async def make_first_admin(registers: Registers, users: Users, wanted: FirstAdmin) -> None:
    """Does nothing if the server has any user."""
    if await registers.users.fresh():
        return
    try:
        await users.add(wanted.username, wanted.password, RestUserSpec(is_admin=True))
    except RefusalError:
        # Another replica has created the same user.
        return
    log.info("created first administrator", extra={"user": wanted.username})
