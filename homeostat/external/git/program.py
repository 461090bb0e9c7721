"""One run of `git` on a bare repository, with limits on time, output and the size of each file that it writes.

`run` works without a connection, `call` connects to the server. Both map failures of the process itself; the caller
handles a `git` that ends with an error code.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from homeostat.external.git.access import PROTOCOLS, Remote, connected, isolated
from homeostat.external.git.errors import GitError, GitTimeoutError, TooLargeError, failure
from homeostat.external.process import (
    Finished,
    OutputTooLargeError,
    Program,
    ProgramMissingError,
    ProgramTimeoutError,
    run_program,
)

_BLOCK: Final = 512
"""The unit in which the size of a file is limited."""
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLimits:
    """`pack_bytes` limits the download of one fetch, and `timeout_s` one run of `git` or one wait for a lock."""

    pack_bytes: int = 256 << 20
    files: int = 10_000
    file_bytes: int = 1 << 20
    total_bytes: int = 64 << 20
    depth: int = 32
    refs: int = 50_000
    timeout_s: float = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Git:
    bare: Path
    remote: Remote
    limits: GitLimits
    protocols: Collection[str] = PROTOCOLS
    inherited: tuple[int, ...] = ()
    slots: asyncio.Semaphore | None = None
    """Limits how many connect to the server at once; None for any number."""

    async def run(
        self,
        *words: str,
        stdin: bytes = b"",
        largest: int = 1 << 20,
        environment: Mapping[str, str] = _NOTHING,
        config: Mapping[str, str] = _NOTHING,
    ) -> Finished:
        return await self._run(words, {**isolated(self.remote, config), **environment}, stdin, largest)

    async def call(self, *words: str, stdin: bytes = b"", largest: int = 1 << 20, lock: int | None = None) -> Finished:
        async with self.slots or nullcontext(), connected(self.remote, self.protocols, self.bare.parent) as access:
            done = await self._run(words, access.environment, stdin, largest, () if lock is None else (lock,))
        if done.code:
            access.check()
        return done

    async def output(self, *words: str, stdin: bytes = b"", largest: int = 1 << 20) -> bytes:
        """The output of a `git` that must succeed."""
        done = await self.run(*words, stdin=stdin, largest=largest)
        if done.code:
            raise self.failure(words[0], done)
        return done.stdout

    def failure(self, word: str, done: Finished) -> GitError:
        return failure(word, done, self.remote.secrets)

    async def _run(
        self, words: Sequence[str], environment: dict[str, str], stdin: bytes, largest: int, locks: Sequence[int] = ()
    ) -> Finished:
        program = Program(
            arguments=["git", *words],
            directory=self.bare.parent,
            environment={**environment, "GIT_DIR": str(self.bare)},
            stdin=stdin,
            timeout_s=self.limits.timeout_s,
            file_bytes=self.limits.pack_bytes,
            largest_output=largest,
            inherited=(*self.inherited, *locks),
        )
        try:
            return await run_program(program)
        except ProgramTimeoutError as error:
            raise GitTimeoutError(f"git {words[0]}: timed out after {self.limits.timeout_s:g} s") from error
        except OutputTooLargeError as error:
            raise TooLargeError(f"git {words[0]}: printed more than {largest} bytes") from error
        except ProgramMissingError as error:
            raise GitError("git cannot be started; install git 2.36 or newer") from error

    def remove_partial_packs(self) -> None:
        """Removes what a failed fetch has left. `TooLargeError` if the size limit stopped it."""
        left = [each for each in self.bare.glob("objects/pack/tmp_*") if each.is_file()]
        is_full = any(each.stat().st_size + _BLOCK >= self.limits.pack_bytes for each in left)
        for each in left:
            each.unlink(missing_ok=True)
        if is_full:
            raise TooLargeError(f"the fetch was stopped: it exceeds {self.limits.pack_bytes} bytes")
