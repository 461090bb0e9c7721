"""kubectl as a person runs it: arguments in, output and exit code out."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Done:
    code: int
    out: str
    err: str


@dataclass(frozen=True, slots=True)
class Kubectl:
    program: Path
    home: Path
    kubeconfig: Path
    namespace: str = ""

    def __call__(self, *arguments: str | Path, stdin: str = "", **env: str) -> str:
        """What it printed; it must end well."""
        done = self.run(*arguments, stdin=stdin, **env)
        assert done.code == 0, f"kubectl {' '.join(map(str, arguments))}: exit {done.code}\n{done.out}{done.err}"
        return done.out

    def fails(self, *arguments: str | Path, stdin: str = "", code: int = 1) -> str:
        """Its error message; it must end with this code."""
        done = self.run(*arguments, stdin=stdin)
        assert done.code == code, f"kubectl {' '.join(map(str, arguments))}: exit {done.code}\n{done.out}{done.err}"
        return done.err

    def run(self, *arguments: str | Path, stdin: str = "", **env: str) -> Done:
        done = subprocess.run(
            self._command(arguments),
            input=stdin,
            env=self._environment(env),
            capture_output=True,
            text=True,
            timeout=_WITHIN_S,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def start(self, *arguments: str | Path) -> subprocess.Popen[str]:
        """One that goes on by itself; the caller ends it."""
        return subprocess.Popen(
            self._command(arguments),
            env=self._environment({}),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def within(self, namespace: str) -> Kubectl:
        return replace(self, namespace=namespace)

    def _command(self, arguments: tuple[str | Path, ...]) -> list[str]:
        scope = ["--namespace", self.namespace] if self.namespace else []
        return [str(self.program), *scope, *map(str, arguments)]

    def _environment(self, further: dict[str, str]) -> dict[str, str]:
        # The cache of discovery and the preferences are in HOME; a test's must not be the user's.
        own = {
            "HOME": str(self.home),
            "KUBECONFIG": str(self.kubeconfig),
            "PATH": os.environ["PATH"],
            "LANG": "C",
            "GOGC": "off",
            "GOMAXPROCS": "1",
        }
        return {**own, **further}
