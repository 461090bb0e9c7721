"""`homeostat contract lock`: writes what references resolve to, or checks that it is unchanged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import msgspec

from homeostat.cli.contract.session.loaded import load_local, lock_path, read_lock_file, require_directory
from homeostat.cli.contract.session.overrides import override_options, read_overrides
from homeostat.cli.contract.session.result import ContractFailure, failures, print_result
from homeostat.cli.contract.session.session import Session, run
from homeostat.cli.contract.session.settings import BUNDLE, Settings, current_settings
from homeostat.external.files import replace_file
from homeostat.operators.contracts.engine.files import LOCK_FILE
from homeostat.operators.contracts.engine.lock.check import check_lock, keep_pins
from homeostat.operators.contracts.engine.lock.lock import (
    Lock,
    LockError,
    UnreadableLockError,
    print_lock,
    read_lock,
)


class _Result(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel", kw_only=True):
    path: str
    lock: Lock
    written: bool = False
    up_to_date: bool = False

    @property
    def counted(self) -> str:
        return f"{len(self.lock.dependencies)} dependencies, {len(self.lock.references)} references"

    def fields(self) -> dict[str, Any]:
        counts = {"dependencies": len(self.lock.dependencies), "references": len(self.lock.references)}
        return {**msgspec.to_builtins(self), **counts}

    def text(self) -> str:
        done = f"wrote {self.path}" if self.written else f"{LOCK_FILE} is up to date"
        return f"{done} ({self.counted})"


@click.command(short_help="Record what references resolve to, or check it.")
@click.argument("ref", metavar="[DIRECTORY]", default=".", type=BUNDLE)
@click.option("--check", "is_check", is_flag=True, help="Change nothing; fail unless the lock matches.")
@click.option("--update", "is_update", is_flag=True, help="Accept all changes, also those of pinned dependencies.")
@click.option("--update-name", "names", multiple=True, metavar="NAME", help="Accept the changes of this dependency.")
@override_options()
def command(
    ref: str,
    is_check: bool,
    is_update: bool,
    names: tuple[str, ...],
    values: tuple[str, ...],
    settings: tuple[str, ...],
) -> None:
    """Resolve all dependencies, configurations and policies of a contract and write them to pacto.lock.

    While a lock exists, validate, graph, diff and push fail if something resolves to other contents. Without --update,
    dependencies keep their pins while their constraint is unchanged.

    \b
    Examples:
      homeostat contract lock billing
      homeostat contract lock billing --check
      homeostat contract lock billing --update-name rates
    """
    chosen = current_settings()
    result = run(_lock(chosen, ref, values, settings, is_check=is_check, is_update=is_update, names=names))
    if result.written:
        with failures():
            replace_file(Path(result.path), print_lock(result.lock))
    print_result(chosen, result.fields, result.text)


async def _lock(
    chosen: Settings,
    ref: str,
    values: tuple[str, ...],
    settings: tuple[str, ...],
    *,
    is_check: bool,
    is_update: bool,
    names: tuple[str, ...],
) -> _Result:
    loaded = load_local(require_directory(ref, "lock"), read_overrides(values, settings))
    assert loaded.root is not None
    async with Session(chosen) as session:
        fresh = await session.fresh_lock(loaded)
    _check_names(names, fresh)
    held, path = _held(loaded.root), str(lock_path(loaded.root))
    if is_check:
        if held is None:
            raise LockError("LOCK_MISSING", f"no {LOCK_FILE} found; write one with: homeostat contract lock {ref}")
        check_lock(held, fresh)
        return _Result(path=path, lock=held, up_to_date=True)
    if held is not None and not is_update:
        try:
            check_lock(held, fresh)
        except LockError:
            fresh = keep_pins(held, fresh, names)
        else:
            return _Result(path=path, lock=held, up_to_date=True)
    return _Result(path=path, lock=fresh, written=True)


def _check_names(names: tuple[str, ...], fresh: Lock) -> None:
    known = [each.name for each in fresh.dependencies]
    if unknown := [each for each in names if each not in known]:
        listed = f"there are {', '.join(known)}" if known else "the contract has no dependencies"
        raise ContractFailure(f'--update-name: there is no dependency "{unknown[0]}"; {listed}')


def _held(root: str) -> Lock | None:
    """None for an unreadable lock, too: it is replaced."""
    try:
        data = read_lock_file(root)
        return None if data is None else read_lock(data)
    except UnreadableLockError:
        return None
