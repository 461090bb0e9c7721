"""The plugin: what Homeostat calls to plan, to apply and to destroy."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import quote, urlsplit

import msgspec

from homeostat.sdk import Condition
from homeostat.sdk.plugins import ActionError, Changes, Job, Outcome, Plan, SecretReference, Tools
from postgres_roles.role import Role, Step, drop, steps
from postgres_roles.scram import is_verifier_of, make_verifier
from postgres_roles.server import Server, connected

_LONGEST_NAME = 63


class Config(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    url: str
    """Of the server as its superuser, without the password."""
    admin_password: SecretReference
    role_password: SecretReference | None = None
    grantable: frozenset[str] = frozenset()
    """The roles that a resource may be a member of."""


class Spec(msgspec.Struct, frozen=True, rename="camel"):
    login: bool = True
    connection_limit: int = -1
    member_of: frozenset[str] = frozenset()


class PostgresRoles:
    name, version, config = "postgres_roles", "1.0.0", Config
    resource_types = ("PostgresRole",)
    type_only = frozenset({"url", "adminPassword", "grantable"})

    def __init__(self, tools: Tools) -> None:
        """All that belongs to a resource is in the job; this plugin needs nothing besides."""

    async def plan(self, job: Job[Config]) -> Plan:
        async with _server(job) as server:
            todo = await _steps(job, server)
        text = "\n".join(each.text for each in todo) or "matches the declaration"
        return Plan(bool(todo), _changes(todo), text)

    async def apply(self, job: Job[Config]) -> Outcome:
        async with _server(job) as server:
            todo = await _steps(job, server)
            await server.execute(each.sql for each in todo)
        return Outcome(
            is_success=True,
            changes=_changes(todo),
            output="\n".join(each.text for each in todo),
            outputs={"role": job.name, "url": _url_of(job)},
            conditions=(_can_login(job),),
        )

    async def destroy(self, job: Job[Config]) -> Outcome:
        async with _server(job) as server:
            found = await server.find(job.name)
            if found is None or found.mark != _mark(job):
                return Outcome(is_success=True, output="there is none of ours")
            await server.execute([drop(job.name)])
        return Outcome(is_success=True, changes=Changes(deleted=1), output="dropped")


@asynccontextmanager
async def _server(job: Job[Config]) -> AsyncIterator[Server]:
    password = await job.secrets.reveal(job.config.admin_password)
    async with connected(job.config.url, password) as server:
        yield server


async def _steps(job: Job[Config], server: Server) -> list[Step]:
    """What is left to do; `ActionError` where nothing may be done."""
    if len(job.name) > _LONGEST_NAME:
        raise ActionError("InvalidName", f"names of roles have {_LONGEST_NAME} characters at most")
    found = await server.find(job.name)
    if found is not None and found.mark != _mark(job):
        raise ActionError("NameTaken", f'there is a role "{job.name}" that is not ours')
    role = found.role if found is not None else None
    return list(steps(job.name, await _wanted(job, role), role, _mark(job)))


async def _wanted(job: Job[Config], found: Role | None) -> Role:
    spec = msgspec.convert(job.spec, Spec)
    if refused := sorted(spec.member_of - job.config.grantable):
        raise ActionError("NotGrantable", f'spec.memberOf: the type does not allow "{refused[0]}"')
    verifier = await _verifier(job, found.verifier if found is not None else "")
    return Role(spec.login, spec.connection_limit, spec.member_of, verifier)


async def _verifier(job: Job[Config], found: str) -> str:
    """The one that is there, where it is of the right password."""
    if job.config.role_password is None:
        return ""
    password = await job.secrets.reveal(job.config.role_password)
    try:
        return found if is_verifier_of(found, password) else make_verifier(password, os.urandom(16))
    except ValueError as error:
        raise ActionError("InvalidPassword", str(error)) from error


def _mark(job: Job[Config]) -> str:
    """A role made again under the same name has another uid, and does not inherit what an older one left."""
    return f"homeostat {job.uid}"


def _changes(todo: list[Step]) -> Changes:
    if not todo:
        return Changes()
    return Changes(created=1) if todo[0].sql.startswith("CREATE") else Changes(updated=1)


def _url_of(job: Job[Config]) -> str:
    server = urlsplit(job.config.url)
    return f"postgresql://{quote(job.name)}@{server.hostname}:{server.port or 5432}{server.path}"


def _can_login(job: Job[Config]) -> Condition:
    if not msgspec.convert(job.spec, Spec).login:
        return Condition("CanLogin", "False", "NoLogin", "spec.login is false")
    if job.config.role_password is None:
        return Condition("CanLogin", "False", "NoPassword", "action.config.rolePassword names no secret")
    return Condition("CanLogin", "True", "PasswordSet")
