"""Finds and runs a plugin: a program `pacto-plugin-NAME` that reads a request and writes an answer, both JSON.

The program is the user's own: it runs with the user's environment in the working directory. Its answer has limits (60
s, 64 MiB), and it gets 4 GiB of memory.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from homeostat.cli.contract.session.result import ContractFailure, print_problem
from homeostat.external.process import ProcessError, Program, run_program
from homeostat.operators.contracts.engine.plugin import (
    MAX_ANSWER_BYTES,
    TIMEOUT_S,
    PluginAnswer,
    PluginError,
    read_answer,
)
from homeostat.operators.contracts.sources.credential_order import config_file

PREFIX: Final = "pacto-plugin-"
_MEMORY_BYTES: Final = 4 << 30
_LONGEST_PROBLEM: Final = 4000
_is_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}").fullmatch


def find_plugin(name: str, environ: Mapping[str, str]) -> Path | None:
    """On PATH, else among the plugins of the user's configuration."""
    if not _is_name(name):
        raise ContractFailure(f'"{name}" is not the name of a plugin; letters, digits and . _ - are allowed')
    found = shutil.which(f"{PREFIX}{name}", path=environ.get("PATH", ""))
    if found:
        return Path(found).absolute()
    own = plugin_directory(environ) / f"{PREFIX}{name}"
    return own if own.is_file() and os.access(own, os.X_OK) else None


def plugin_directory(environ: Mapping[str, str]) -> Path:
    return config_file(environ).parent / "plugins"


async def run_plugin(path: Path, request: bytes, environ: Mapping[str, str]) -> PluginAnswer:
    program = Program(
        arguments=[str(path)],
        directory=Path.cwd(),
        environment=environ,
        stdin=request,
        timeout_s=TIMEOUT_S,
        memory_bytes=_MEMORY_BYTES,
        largest_output=MAX_ANSWER_BYTES,
    )
    try:
        done = await run_program(program)
    except ProcessError as error:
        raise ContractFailure(str(error)) from error
    problem = done.stderr.decode(errors="replace").strip()
    if done.code != 0:
        reason = problem[-_LONGEST_PROBLEM:] or f"it exited with {done.code} and said nothing"
        raise ContractFailure(f"plugin {path.name} failed: {reason}")
    if problem:
        print_problem(problem[-_LONGEST_PROBLEM:])
    try:
        return read_answer(done.stdout)
    except PluginError as error:
        raise ContractFailure(str(error)) from error
