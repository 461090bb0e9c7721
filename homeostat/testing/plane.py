"""A plane for a test, with operators running on it.

    async with open_test_plane(tmp_path, greeter) as plane:
        await plane.client.create("/apis/example.dev/v1/namespaces/default/greetings", {...})

The real server and the real runtime, in this process, on a free port without credentials.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from homeostat.operators.catalog import load_operator
from homeostat.plane import Plane, Settings, open_plane
from homeostat.plane.admission import put_guards
from homeostat.plane.computing import serve_computed
from homeostat.runtime.description import describe
from homeostat.runtime.installation import install_definitions
from homeostat.runtime.manager import Manager
from homeostat.runtime.setup import OperatorModule


@asynccontextmanager
async def open_test_plane(
    data: Path,
    *operators: OperatorModule | str,
    has_housekeeping: bool = False,
    has_guards: bool = True,
    environment: Mapping[str, str] | None = None,
) -> AsyncIterator[Plane]:
    """In the block the operators are ready; at its end they are stopped as `homeostat run` stops them.

    An operator is a module, or a value of `--operators`: the name of one of ours, a file, the name of a module. They
    read their settings from `environment`, by default that of the process. Without guards it behaves as a cluster,
    which neither calls guards nor serves computed kinds.
    """
    housekeeping = frozenset({"housekeeping"} if has_housekeeping else ())
    settings = Settings(data=data, port=0, is_open=True, operators=housekeeping)
    async with AsyncExitStack() as stack:
        plane = await stack.enter_async_context(open_plane(settings))
        manager = Manager(plane.client, environment=environment)
        for number, operator in enumerate(operators):
            module = load_operator(operator) if isinstance(operator, str) else operator
            name = f"operator-{number}"
            await install_definitions(plane.client, describe(name, module).definitions())
            setup = manager.add(name, module.register, module.KINDS)
            if has_guards:
                put_guards(plane.admission.guards, setup)
                serve_computed(plane.app.backend.registry, setup)
        await stack.enter_async_context(manager.running())
        await manager.informers.synced()
        yield plane
