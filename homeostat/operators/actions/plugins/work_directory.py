"""A resource's directory on this machine, in which one program works at a time, whoever started it."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

from homeostat.external.files import make_private
from homeostat.external.process import Finished, Program, ProgramBusyError, locked, run_program
from homeostat.objects.decision import Wait

LOCK: Final = ".homeostat-lock"
_RETRY_AFTER: Final = timedelta(seconds=5)


def enter(directory: Path) -> None:
    """Creates the directory. Raises `Wait` while a program that a killed operator has started still runs in it."""
    make_private(directory)
    try:
        with locked(directory / LOCK, "a program"):
            return
    except ProgramBusyError as error:
        raise _later(error) from error


async def run_alone(program: Program) -> Finished:
    try:
        return await run_program(program)
    except ProgramBusyError as error:
        raise _later(error) from error


def as_text(echo: Callable[[str], None]) -> Callable[[bytes], None]:
    """Decodes UTF-8 from chunks that may split characters."""
    decode = codecs.getincrementaldecoder("utf-8")("replace").decode
    return lambda chunk: echo(decode(chunk))


def as_lines(echo: Callable[[str], None]) -> Callable[[bytes], None]:
    """Splits chunks into complete lines, without their ends."""
    rest = ""

    def take(text: str) -> None:
        nonlocal rest
        *lines, rest = (rest + text).split("\n")
        for each in lines:
            echo(each)

    return as_text(take)


def _later(error: ProgramBusyError) -> Wait:
    return Wait(error.reason, _RETRY_AFTER, message=str(error))
