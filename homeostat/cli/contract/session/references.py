"""Validates bundles of registries, and those whose policies or locks need other bundles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from homeostat.cli.contract.session.session import Session, run
from homeostat.cli.contract.session.settings import Settings
from homeostat.edge.turn import map_concurrently
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.finding import Findings, failed
from homeostat.operators.contracts.engine.lock.lock import LockError
from homeostat.operators.contracts.engine.validate import Overrides
from homeostat.operators.contracts.sources.errors import SourceError, UntrustedError

_AT_ONCE = 32


def validate_with_references(
    settings: Settings, names: Sequence[str], overrides: Callable[[], Overrides], gate_on: date | None
) -> dict[str, Findings]:
    return run(_validate_all(settings, names, overrides, gate_on))


async def _validate_all(
    settings: Settings, names: Sequence[str], overrides: Callable[[], Overrides], gate_on: date | None
) -> dict[str, Findings]:
    async with Session(settings) as session:

        async def validated(name: str) -> Findings:
            return await _validate(session, name, overrides, gate_on)

        found = await map_concurrently(validated, names, at_once=_AT_ONCE)
    return dict(zip(names, found, strict=True))


async def _validate(session: Session, name: str, overrides: Callable[[], Overrides], gate_on: date | None) -> Findings:
    try:
        loaded = await session.load(name, overrides())
        await session.verify_lock(loaded)
        return (await session.closure(loaded).validate(loaded.parsed, loaded.files, gate_on=gate_on)).findings
    except LockError as error:
        return failed(error.code, str(error))
    except UntrustedError as error:
        return failed("SIGNATURE_INVALID", str(error))
    except (SourceError, ParseError) as error:
        return failed("PARSE_ERROR", str(error))
