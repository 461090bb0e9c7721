"""The commands of the readme, the tutorial and a guide do what these say: they are run and their output is compared."""

from __future__ import annotations

import os
import re
from asyncio import create_subprocess_shell, wait_for
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest

from homeostat.plane import Settings, open_plane
from homeostat.testing.eventually import eventually
from tests.docs.documents import EXAMPLES, ROOT, text_of
from tests.processes import path_for_shells
from tools.build_kubectl import find_kubectl

pytestmark = pytest.mark.kubectl
_GREETER = EXAMPLES / "greeter"
_fences = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_serves = re.compile(r"^(?:export |pipx |homeostat up\b|homeostat run (?!.*--dry-run))")
_heredoc = re.compile(r"<<'(\w+)'\n.*?^\1$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Step:
    """Lines to type, and lines that the last of them prints in the end; none where that is not told.

    In any order: Events of the same second come as they like.
    """

    lines: tuple[str, ...]
    printed: frozenset[str] = frozenset()


def _steps(section: str, document: str = "docs/tutorial.md") -> Iterator[Step]:
    """Of a section, without what goes on until somebody ends it: the tests serve by themselves."""
    text = text_of(document).partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    fences = [*_fences.findall(text), ("", "")]
    for (language, code), (following, printed) in pairwise(fences):
        lines = tuple(line for line in _lines(code) if not _serves.match(line))
        if language == "sh" and lines:
            yield Step(lines, _plain(printed) if following == "text" else frozenset())


def _lines(code: str) -> list[str]:
    """What is typed at once: a line, or one with the text that it takes as input."""
    joined = _heredoc.sub(lambda found: found[0].replace("\n", "\0"), code)
    return [line.replace("\0", "\n") for line in joined.splitlines()]


def _plain(text: str) -> frozenset[str]:
    """The lines without widths of columns, and with ages that are the same."""
    lines = (re.sub(r"\b\d+s\b", "1s", re.sub(r"[ \t-]+", " ", line)) for line in text.splitlines())
    return frozenset(line.strip() for line in lines)


@dataclass(frozen=True, slots=True)
class Shell:
    kubeconfig: Path
    directory: Path = _GREETER

    async def run(self, line: str) -> str:
        path = f"{find_kubectl().parent}:{path_for_shells()}"
        own = {"PATH": path, "KUBECONFIG": str(self.kubeconfig), "HOME": str(self.kubeconfig.parent)}
        run = await create_subprocess_shell(
            line, cwd=self.directory, env={**os.environ, **own}, stdout=PIPE, stderr=STDOUT
        )
        told, _ = await wait_for(run.communicate(), 30)
        assert run.returncode == 0, f"{line}: {told.decode()}"
        return told.decode()

    async def follow(self, step: Step) -> None:
        for line in step.lines[:-1] if step.printed else step.lines:
            await self.run(line)
        if step.printed:
            await eventually(lambda: self.run(step.lines[-1]), lambda told: step.printed <= _plain(told))


async def test_the_first_result_is_as_documented(tmp_path: Path) -> None:
    async with open_plane(Settings(data=tmp_path, port=0)) as plane:
        shell = Shell(plane.kubeconfig_path, ROOT)
        with_kubectl, with_ours = _steps("A first result", "README.md")
        await shell.follow(with_kubectl)
        await shell.follow(with_ours)
        (elsewhere,) = _steps("Without a clone", "README.md")
        assert len(elsewhere.lines) == 2
        await Shell(plane.kubeconfig_path, tmp_path).follow(elsewhere)


async def test_the_session_on_a_plane_is_as_documented(tmp_path: Path) -> None:
    operators = frozenset({"housekeeping", str(_GREETER / "greeter.py")})
    async with open_plane(Settings(data=tmp_path, port=0, operators=operators)) as plane:
        shell = Shell(plane.kubeconfig_path)
        shown, drift, deleted, taken = _steps("Run it on a plane")
        for step in (shown, drift, deleted):
            await shell.follow(step)
        await eventually(lambda: shell.run("kubectl get configmaps"), lambda told: "morning" not in told)
        await shell.follow(taken)
        await shell.run("kubectl delete configmap morning")
        await shell.run("kubectl wait --for=condition=Ready greeting/morning --timeout=10s")


async def test_the_session_on_a_cluster_is_as_documented(tmp_path: Path) -> None:
    async with open_plane(Settings(data=tmp_path, port=0, operators=frozenset())) as plane:
        shell = Shell(plane.kubeconfig_path)
        (installed,) = _steps("Run it on a cluster")
        await shell.follow(installed)


async def test_enforcement_on_a_plane_is_as_documented(tmp_path: Path) -> None:
    operators = frozenset({"housekeeping", "policy"})
    async with open_plane(Settings(data=tmp_path, port=0, operators=operators)) as plane:
        shell = Shell(plane.kubeconfig_path, EXAMPLES / "policy-enforce")
        await eventually(lambda: shell.run("kubectl api-resources"), lambda told: "devopspolicies" in told)
        dry, done = _steps("Enforcement", "docs/policy.md")
        assert len(dry.printed) == 2
        await shell.follow(dry)
        unchanged = await shell.run("kubectl get deployment web -n shop -o yaml")
        assert "livenessProbe:" not in unchanged
        await shell.follow(done)
