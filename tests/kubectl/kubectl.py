"""kubectl as a person runs it: arguments in, output and exit code out. And where to find one."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from pathlib import Path

from tools.build_kubectl import CACHE, MINORS, build

_WITHIN_S = 30.0
_BUILD_WITHIN_S = 400.0
_OLDEST_MINOR = 31


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
        own = {"HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), "PATH": os.environ["PATH"], "LANG": "C"}
        return {**own, **further}


def find_programs() -> dict[str, Path]:
    """Every kubectl to test with, by version: the one on PATH and those in the cache."""
    found: dict[str, Path] = {}
    on_path = shutil.which("kubectl")
    for program in [*([Path(on_path)] if on_path else []), *sorted(CACHE.glob("*/kubectl"))]:
        minor = _minor(program)
        if minor >= _OLDEST_MINOR:
            found.setdefault(f"1.{minor}", program)
    return found


def build_program() -> Path | str:
    """A kubectl from the Go module proxy, or the reason why there is none."""
    lacking = f"no kubectl of 1.{_OLDEST_MINOR} or newer on PATH"
    if shutil.which("go") is None:
        return f"{lacking} (Debian: apt-get install kubernetes-client), and no Go to build one"
    try:
        return build(MINORS[-1], within_s=_BUILD_WITHIN_S)
    except (OSError, subprocess.SubprocessError, SystemExit) as error:
        return f"{lacking}, and Go could not build one: {error}"


def _minor(program: Path) -> int:
    """34 for 1.34; 0 for what does not tell."""
    told = subprocess.run([program, "version", "--client"], capture_output=True, text=True, timeout=_WITHIN_S)
    version = re.search(r"v1\.(\d+)", told.stdout)
    return int(version[1]) if version else 0
