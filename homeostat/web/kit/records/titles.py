"""Records that have a title which no other of their kind may have, and which may change.

The title is no name of an object, so no server keeps it unique: whoever gives one looks again after the write, and
takes it back where somebody else has given the same meanwhile. Two at the same moment may both be refused; there are
never two.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from homeostat.web.kit.records.register import Record, Register

R = TypeVar("R", bound=Record)


class TakenError(Exception):
    """Another record has the title."""


async def add_titled(register: Register[R], prefix: str, spec: msgspec.Struct) -> R:
    """`spec.name` is the title."""
    _check_free(register, spec)
    number = await register.take_number()
    record = await register.add(f"{prefix}-{number}", spec, number=number)
    if await _has_rival(register, record):
        await register.remove(record)
        raise TakenError(record.spec.name)
    return record


async def edit_titled(register: Register[R], record: R, change: Callable[[Any], Any]) -> R:
    """`NotFoundError` where the record is gone."""
    before, wanted = record.spec, change(record.spec)
    if wanted.name == before.name:
        return await register.edit(record, change)
    _check_free(register, wanted)
    changed = await register.edit(record, change)
    if await _has_rival(register, changed):
        await register.edit(record, lambda spec: replace(spec, name=before.name))
        raise TakenError(wanted.name)
    return changed


def _check_free(register: Register[R], spec: Any) -> None:
    if any(each.spec.name == spec.name for each in register.all()):
        raise TakenError(spec.name)


async def _has_rival(register: Register[R], record: R) -> bool:
    return any(each.spec.name == record.spec.name and each.name != record.name for each in await register.fresh())
