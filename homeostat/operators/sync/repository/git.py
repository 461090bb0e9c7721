"""The Git repository around the files: commits, status, history.

It is the user's own working tree, so it is used in place. The user's and the machine's configuration of git is not
read, and no hook of the repository runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from homeostat.external.process import Finished, ProcessError, Program, run_program
from homeostat.operators.sync.engine.errors import SyncError, TransportError, ValidationError

_ENVIRONMENT: Final = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_AUTHOR_NAME": "declarest",
    "GIT_AUTHOR_EMAIL": "declarest@local",
    "GIT_COMMITTER_NAME": "declarest",
    "GIT_COMMITTER_EMAIL": "declarest@local",
}
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
    def __init__(self, base: Path, *, remote_url: str = "", branch: str = "") -> None:
        self._base, self._url, self._branch = base, remote_url, branch

    async def init(self) -> None:
        """Create the repository where there is none."""
        if not (self._base / ".git").exists():
            self._base.mkdir(parents=True, exist_ok=True)
            await self._git("init", "-q", "-b", self._branch or "main")

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
        if not self._url:
            return Status("no_remote", has_uncommitted=changed)
        branch = self._branch or "main"
        done = await self._run("rev-list", "--left-right", "--count", f"HEAD...refs/remotes/origin/{branch}")
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
        target = f"refs/remotes/origin/{self._branch or 'main'}" if self._url else "HEAD"
        await self._git("reset", "-q", "--hard" if is_hard else "--mixed", target)

    async def history(self, options: Sequence[str]) -> str:
        done = await self._run("rev-parse", "-q", "--verify", "HEAD")
        return (await self._git("log", "--no-color", *options)).decode(errors="replace") if not done.code else ""

    async def fetch(self) -> None:
        self._check_remote()
        branch = self._branch or "main"
        await self._git("fetch", "-q", "--", self._url, f"+refs/heads/{branch}:refs/remotes/origin/{branch}")

    async def push(self, *, is_forced: bool = False) -> None:
        self._check_remote()
        branch = self._branch or "main"
        forced = ["--force"] if is_forced else []
        await self._git("push", "-q", *forced, "--", self._url, f"HEAD:refs/heads/{branch}")
        await self._git("update-ref", f"refs/remotes/origin/{branch}", "HEAD")

    def _check_remote(self) -> None:
        if not self._url:
            raise ValidationError("the repository has no remote; set repository.git.remote.url in the context")

    async def check(self) -> None:
        await self._git("rev-parse", "--git-dir")

    async def _git(self, *words: str) -> bytes:
        done = await self._run(*words)
        if done.code:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise ValidationError(f"git {words[0]} failed: {lines[-1] if lines else f'exit {done.code}'}"[:500])
        return done.stdout

    async def _run(self, *words: str) -> Finished:
        program = Program(
            arguments=("git", "-c", "core.hooksPath=/dev/null", *words),
            directory=self._base,
            environment=_ENVIRONMENT,
            timeout_s=_TIMEOUT_S,
            largest_output=_LARGEST,
        )
        try:
            return await run_program(program)
        except ProcessError as error:
            raise TransportError(str(error)) from error
        except OSError as error:
            raise SyncError(f"git cannot run in {self._base}: {error.strerror}") from error
