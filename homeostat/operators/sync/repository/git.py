"""The Git repository around the files: commits, status, history.

It is the user's own working tree, so it is used in place. The user's and the machine's configuration of git is not
read, and no hook of the repository runs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from homeostat.external.git.access import PROTOCOLS, Remote, connected
from homeostat.external.git.errors import (
    AuthenticationError,
    GitAddressError,
    GitError,
    HostKeyError,
    MissingRefError,
    PushConflictError,
    failure,
)
from homeostat.external.process import Finished, ProcessError, Program, run_program
from homeostat.operators.sync.engine.errors import (
    AuthError,
    ConflictError,
    NotFoundError,
    SyncError,
    TransportError,
    ValidationError,
)

_ENVIRONMENT: Final = MappingProxyType(
    {
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "declarest",
        "GIT_AUTHOR_EMAIL": "declarest@local",
        "GIT_COMMITTER_NAME": "declarest",
        "GIT_COMMITTER_EMAIL": "declarest@local",
    }
)
_PROTOCOLS: Final = (*PROTOCOLS, "file")
_TIMEOUT_S: Final = 120.0
_LARGEST: Final = 16 << 20


@dataclass(frozen=True, slots=True)
class Status:
    """`state` is up_to_date, ahead, behind, diverged or no_remote."""

    state: str
    ahead: int = 0
    behind: int = 0
    has_uncommitted: bool = False


class WorkingTree:
    def __init__(self, base: Path, *, remote: Remote | None = None, branch: str = "") -> None:
        self._base, self._remote, self._branch = base, remote, branch or "main"

    async def init(self) -> None:
        """Create the repository where there is none."""
        if not (self._base / ".git").exists():
            self._base.mkdir(parents=True, exist_ok=True)
            await self._git("init", "-q", "-b", self._branch)

    async def commit(self, message: str, names: Sequence[str] = ()) -> bool:
        """Commit these files, or all changes; False if nothing changed."""
        chosen = ["--", *(f":(literal){each}" for each in names)] if names else []
        await self._git("add", "-A", *chosen)
        if not (await self._run("diff", "--cached", "--quiet")).code:
            return False
        await self._git("commit", "-q", "--no-verify", "--no-gpg-sign", "-m", message)
        return True

    async def status(self) -> Status:
        changed = bool((await self._git("status", "--porcelain", "--untracked-files=all")).strip())
        if self._remote is None:
            return Status("no_remote", has_uncommitted=changed)
        done = await self._run("rev-list", "--left-right", "--count", f"HEAD...{self._tracked}")
        if done.code:
            return Status("ahead", 1, 0, changed)
        ahead, behind = (int(each) for each in done.stdout.split())
        state = {(False, False): "up_to_date", (True, False): "ahead", (False, True): "behind"}
        return Status(state.get((ahead > 0, behind > 0), "diverged"), ahead, behind, changed)

    async def clean(self) -> None:
        """Remove untracked files, and changes that were not committed."""
        await self._git("clean", "-fdq")
        await self._git("checkout", "-q", "--", ".")

    async def reset(self, *, is_hard: bool) -> None:
        target = self._tracked if self._remote is not None else "HEAD"
        if (await self._run("rev-parse", "-q", "--verify", target)).code:
            known = f'branch "{self._branch}" of the remote is unknown here; run `repository refresh` first'
            raise NotFoundError(known if self._remote is not None else "the repository has no commit so far")
        await self._git("reset", "-q", "--hard" if is_hard else "--mixed", target)

    async def history(self, options: Sequence[str]) -> str:
        done = await self._run("rev-parse", "-q", "--verify", "HEAD")
        return (await self._git("log", "--no-color", *options)).decode(errors="replace") if not done.code else ""

    @property
    def _tracked(self) -> str:
        return f"refs/remotes/origin/{self._branch}"

    async def fetch(self) -> None:
        await self._call("fetch", "-q", "--", f"+refs/heads/{self._branch}:{self._tracked}")

    async def push(self, *, is_forced: bool = False) -> None:
        forced = ["--force"] if is_forced else []
        await self._call("push", "-q", *forced, "--", f"HEAD:refs/heads/{self._branch}")
        await self._git("update-ref", self._tracked, "HEAD")

    async def _call(self, *words: str) -> None:
        """Run a command that connects to the remote, whose address comes before the last word."""
        if self._remote is None:
            raise ValidationError("the repository has no remote; set repository.git.remote.url in the context")
        *before, last = words
        try:
            with tempfile.TemporaryDirectory(prefix="homeostat-") as scratch:
                async with connected(self._remote, _PROTOCOLS, Path(scratch)) as access:
                    done = await self._run(*before, self._remote.url, last, environment=access.environment)
                    if done.code:
                        access.check()
                        raise failure(words[0], done, self._remote.secrets)
        except PushConflictError as error:
            raise ConflictError(
                f'branch "{self._branch}" of the remote has commits that are not here; take them over with git, or '
                "replace them with `repository push --force-push`"
            ) from error
        except MissingRefError as error:
            raise NotFoundError(f'the remote has no branch "{self._branch}"; push one, or set another') from error
        except GitAddressError as error:
            raise ValidationError(str(error)) from error
        except (AuthenticationError, HostKeyError) as error:
            raise AuthError(str(error)) from error
        except GitError as error:
            raise TransportError(str(error)) from error

    async def check(self) -> None:
        await self._git("rev-parse", "--git-dir")

    async def _git(self, *words: str) -> bytes:
        done = await self._run(*words)
        if done.code:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise ValidationError(f"git {words[0]} failed: {lines[-1] if lines else f'exit {done.code}'}"[:500])
        return done.stdout

    async def _run(self, *words: str, environment: Mapping[str, str] = _ENVIRONMENT) -> Finished:
        program = Program(
            arguments=("git", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", *words),
            directory=self._base,
            environment=environment,
            timeout_s=_TIMEOUT_S,
            largest_output=_LARGEST,
        )
        try:
            return await run_program(program)
        except ProcessError as error:
            raise TransportError(str(error)) from error
        except OSError as error:
            raise SyncError(f"git cannot run in {self._base}: {error.strerror}") from error
