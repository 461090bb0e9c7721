"""Users, roles and login of the REST API, assembled over a client.

async with open_identity(client, private, gate=gate, namespace="default", environment=os.environ) as identity:
    identity.add_routes(routes.add)
    caller = await identity.gate.identify(request)
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from homeostat.client.base import Client, UnreachableError
from homeostat.edge.reply import Reply
from homeostat.edge.request import Request
from homeostat.objects.errors import ApiError
from homeostat.runtime.cache.informer import Informers
from homeostat.runtime.faces.private import PrivateSecrets
from homeostat.web.identity.credentials.hashes import Hashes
from homeostat.web.identity.credentials.migration import migrate
from homeostat.web.identity.credentials.password import DEFAULT_COST, Cost, Passwords
from homeostat.web.identity.credentials.throttle import Throttle
from homeostat.web.identity.credentials.token import Tokens, expiry_hours, load_key
from homeostat.web.identity.first_admin import first_admin, make_first_admin
from homeostat.web.identity.jwt_gate import JwtGate
from homeostat.web.identity.ldap.directory import read_directory, sync_interval_s
from homeostat.web.identity.ldap.sync import Directory, Sync
from homeostat.web.identity.login import Login
from homeostat.web.identity.records import Registers, make_registers
from homeostat.web.identity.roles import Roles
from homeostat.web.identity.users import Users
from homeostat.web.kit.gate import Gate
from homeostat.web.kit.refusal import RefusalError
from homeostat.web.kit.routing import API, Add, Row, add_table

log = logging.getLogger(__name__)

_RETRY_AFTER_S: Final = 1.0
_READY_WITHIN_S: Final = 5.0


class Identity:
    """`gate` accepts the tokens of logged-in users, and the callers that the given gate accepts. With `is_open` it is
    the given gate.
    """

    def __init__(
        self,
        registers: Registers,
        tokens: Tokens,
        gate: Gate,
        *,
        hashes: Hashes,
        passwords: Passwords,
        directory: Directory | None,
        is_open: bool,
    ) -> None:
        self.gate: Gate = gate if is_open else JwtGate(registers, tokens, gate)
        self.registers = registers
        self._is_settled = asyncio.Event()
        self.users = Users(registers, self.gate, hashes=hashes, passwords=passwords)
        self._roles = Roles(registers, self.gate)
        self.sync = Sync(registers, self.gate, directory)
        self._login = Login(
            registers, self.gate, tokens, hashes=hashes, passwords=passwords, throttle=Throttle(), directory=directory
        )

    def add_routes(self, add: Add) -> None:
        users, roles, login = self.users, self._roles, self._login
        rows: tuple[Row, ...] = (
            ("POST", "/auth/login", login.login),
            ("GET", "/auth/me", login.show_me),
            ("POST", "/users", users.create),
            ("GET", "/users", users.list),
            ("POST", "/users/ldap-sync", self.sync.sync),
            ("GET", "/users/{id}", users.show),
            ("PUT", "/users/{id}", users.change),
            ("DELETE", "/users/{id}", users.suspend),
            ("POST", "/custom-roles", roles.create),
            ("GET", "/custom-roles", roles.list),
            ("GET", "/custom-roles/{id}", roles.show),
            ("PUT", "/custom-roles/{id}", roles.change),
            ("DELETE", "/custom-roles/{id}", roles.delete),
            ("POST", "/custom-roles/{id}/permissions", roles.add_permission),
            ("PUT", "/custom-roles/{id}/permissions/{permission}", roles.change_permission),
            ("DELETE", "/custom-roles/{id}/permissions/{permission}", roles.delete_permission),
        )
        add_table(add, API, rows, ready=self.ready)

    async def log_in(self, request: Request, captured: Mapping[str, str]) -> Reply:
        """The handler of `/auth/login`, for other apps of the process."""
        await self.ready()
        return await self._login.login(request, captured)

    async def ready(self) -> None:
        """Waits for the users and the first administrator; `RefusalError` 503 if that takes too long."""
        await self.registers.ready()
        if not self._is_settled.is_set():
            try:
                async with asyncio.timeout(_READY_WITHIN_S):
                    await self._is_settled.wait()
            except TimeoutError as error:
                raise RefusalError(503, "logins are not possible yet; try again in a few seconds") from error

    async def settle(self, steps: Sequence[Callable[[], Awaitable[None]]]) -> None:
        """Takes the steps that logins wait for, each as soon as the server is reachable."""
        for step in steps:
            while True:
                try:
                    await self.registers.ready()
                    await step()
                    break
                except (ApiError, UnreachableError, RefusalError) as error:
                    log.warning("failed to prepare logins; retrying", extra={"reason": str(error)})
                    await asyncio.sleep(_RETRY_AFTER_S)
        self._is_settled.set()


@asynccontextmanager
async def open_identity(
    client: Client,
    private: PrivateSecrets,
    *,
    gate: Gate,
    namespace: str,
    environment: Mapping[str, str],
    is_open: bool = False,
    cost: Cost = DEFAULT_COST,
) -> AsyncIterator[Identity]:
    """`private` holds keys and password hashes. `SettingError` if an environment variable is invalid. Users are loaded
    in the background.
    """
    wanted = first_admin(environment)
    tokens = Tokens(await load_key(private, environment), hours=expiry_hours(environment))
    directory, interval_s = read_directory(environment), sync_interval_s(environment)
    informers, passwords, hashes = Informers(client), Passwords(cost), Hashes(private)
    registers = make_registers(client, informers, namespace=namespace)
    registers.users.add_handler(hashes.on_change)
    identity = Identity(
        registers, tokens, gate, hashes=hashes, passwords=passwords, directory=directory, is_open=is_open
    )

    async def move_credentials() -> None:
        await migrate(client, namespace, private, await registers.users.fresh())

    async def add_first_admin() -> None:
        if wanted is not None:
            await make_first_admin(registers, identity.users, wanted)

    work = [informers.run(), registers.users.numbering(), registers.roles.numbering(), hashes.collect()]
    async with asyncio.TaskGroup() as tasks:
        running: list[asyncio.Task[None]] = [tasks.create_task(each) for each in work]
        running.append(tasks.create_task(identity.settle((move_credentials, add_first_admin))))
        running.append(tasks.create_task(identity.sync.regularly(interval_s)))
        try:
            yield identity
        finally:
            for task in running:
                task.cancel()
            passwords.close()
