"""A PostgreSQL server: its roles are read and changed, and its errors become those of Homeostat."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, NamedTuple

import asyncpg

from homeostat.sdk import Wait
from homeostat.sdk.plugins import ActionError
from postgres_roles.role import Role

_SECONDS = 10
_FIND = """
SELECT rolcanlogin, rolconnlimit, coalesce(rolpassword, '') AS verifier,
       rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls AS is_privileged,
       coalesce(shobj_description(role.oid, 'pg_authid'), '') AS mark,
       ARRAY(SELECT pg_get_userbyid(roleid)::text FROM pg_auth_members WHERE member = role.oid) AS groups
FROM pg_authid role WHERE rolname = $1
"""


class Found(NamedTuple):
    """`mark` is the comment on the role: it says whose it is."""

    role: Role
    mark: str


class Server:
    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def find(self, name: str) -> Found | None:
        row = await self._connection.fetchrow(_FIND, name)
        if row is None:
            return None
        groups = frozenset(row["groups"])
        role = Role(row["rolcanlogin"], row["rolconnlimit"], groups, row["verifier"], row["is_privileged"])
        return Found(role, row["mark"])

    async def execute(self, statements: Iterable[str]) -> None:
        """All of them, or none."""
        async with self._connection.transaction():
            for each in statements:
                await self._connection.execute(each)


@asynccontextmanager
async def connected(url: str, password: str) -> AsyncIterator[Server]:
    try:
        connection = await asyncpg.connect(url, password=password, timeout=_SECONDS, command_timeout=_SECONDS)
    except (OSError, TimeoutError, asyncpg.CannotConnectNowError) as error:
        raise Wait("ServerAway", timedelta(seconds=5), message=f"the server does not answer: {error}") from error
    except (asyncpg.PostgresError, ValueError) as error:
        raise ActionError("NotConnected", error.args[0]) from error
    try:
        yield Server(connection)
    except asyncpg.DependentObjectsStillExistError as error:
        raise ActionError("StillInUse", f"{error.args[0]}: {error.detail}") from error
    except asyncpg.PostgresError as error:
        raise ActionError("Refused", error.args[0]) from error
    finally:
        await connection.close(timeout=_SECONDS)
