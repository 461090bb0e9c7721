"""Records with a unique title that can change.

The API server keeps only names of objects unique, not titles. So a writer lists the records again after its write, and
undoes the write if another record has the same title. Of two concurrent writers both may be refused, but never both
accepted.
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
    """`NotFoundError` if the record is gone."""
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
