"""Shells complete commands, options, kinds, names and namespaces; quickly, and silently where there is no server."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import HOMEOSTAT, Cli, Up

MANIFESTS = """
{apiVersion: v1, kind: Namespace, metadata: {name: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: alpha, namespace: shop}}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: beta, namespace: shop}}
"""
# Loaded with every connection; to complete the name of a command none is needed.
HEAVY = ("asyncio", "ssl", "msgspec", "yaml", "rich", "homeostat.client", "homeostat.cli.objects")


@pytest.fixture(scope="module")
def shop(up: Up) -> Cli:
    assert up.cli("apply", "-f", "-", stdin=MANIFESTS).code == 0
    return up.cli


def complete(cli: Cli, line: str, *, shell: str = "bash") -> list[str]:
    words = {"COMP_WORDS": f"homeostat {line}", "COMP_CWORD": str(len(line.split(" ")))}
    asked = Cli({**cli.environment, **words, "_HOMEOSTAT_COMPLETE": f"{shell}_complete"})()
    assert (asked.code, asked.err) == (0, "")
    return [each.partition(",")[2] for each in asked.out.splitlines() if each]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ge", ["get"]),
        ("token r", ["revoke"]),
        ("get deploy", ["deployments"]),
        ("get configm", ["configmaps"]),
        ("get cm,sec", ["cm,secrets", "cm,secretstores"]),
        ("get ns sh", ["shop"]),
        ("get -n shop cm ", ["alpha", "beta", "kube-root-ca.crt"]),
        ("delete -n shop cm alpha b", ["beta"]),
        ("describe -n shop cm/a", ["cm/alpha"]),
        ("edit nonsense ", []),
        ("get cm -n sh", ["shop"]),
        ("get cm --context ", ["homeostat"]),
        ("get cm -o js", ["json", "jsonpath="]),
        ("get cm --sel", ["--selector"]),
        ("delete cm --cascade o", ["orphan"]),
        ("explain confi", ["configmaps"]),
    ],
)
def test_a_word_is_completed(shop: Cli, line: str, expected: list[str]) -> None:
    assert complete(shop, line) == expected


SHELLS: dict[str, tuple[Callable[[list[str]], str], Callable[[list[str]], list[str]]]] = {
    # What each shell sets for `homeostat get ...`, and the words among the lines that it gets back.
    "zsh": (lambda words: str(len(words)), lambda lines: lines[1::3]),
    "fish": (lambda words: words[-1], lambda lines: [each.split(",")[1].partition("\t")[0] for each in lines]),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "expected"),
    [("get deploy", ["deployments"]), ("get -n shop cm al", ["alpha"]), ("get cm -n sh", ["shop"])],
    ids=["kinds", "names", "namespaces"],
)
def test_kinds_names_and_namespaces_are_completed_by_other_shells_too(
    shop: Cli, shell: str, line: str, expected: list[str]
) -> None:
    place, words_of = SHELLS[shell]
    words = {"COMP_WORDS": f"homeostat {line}", "COMP_CWORD": place(line.split(" "))}
    asked = Cli({**shop.environment, **words, "_HOMEOSTAT_COMPLETE": f"{shell}_complete"})()
    assert (asked.code, asked.err) == (0, "")
    assert words_of(asked.out.splitlines()) == expected


def test_without_a_server_only_commands_and_options_are_completed(cli: Cli) -> None:
    assert complete(cli, "get con") == []
    assert complete(cli, "get cm -n d") == []
    assert complete(cli, "get cm --context c") == []
    assert complete(cli, "ge") == ["get"]


@pytest.mark.parametrize("line", ["ge", "policy ch", "--help"])
def test_names_of_commands_are_completed_without_loading_the_client(line: str) -> None:
    code = (
        "import os, sys\n"
        "from homeostat.cli.main import main\n"
        "try: main(sys.argv[1:], 'homeostat')\n"
        "except SystemExit: pass\n"
        f"print([each for each in {HEAVY!r} if each in sys.modules], file=sys.stderr)"
    )
    completing = {
        "COMP_WORDS": f"homeostat {line}",
        "COMP_CWORD": str(len(line.split())),
        "_HOMEOSTAT_COMPLETE": "bash_complete",
    }
    words = {} if line.startswith("-") else completing
    done = subprocess.run(
        [sys.executable, "-c", code, *line.split()], env=words, capture_output=True, text=True, timeout=30
    )
    assert done.stderr == "[]\n"
    assert done.stdout


def test_bash_completes_with_the_script(shop: Cli, tmp_path: Path) -> None:
    script = shop.here("completion", "bash").out
    (tmp_path / "try.sh").write_text(
        f"{script}\n"
        "COMP_WORDS=(homeostat get -n shop cm al) COMP_CWORD=5\n"
        f"_homeostat_completion {HOMEOSTAT} al cm\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc", str(tmp_path / "try.sh")], env=shop.environment, capture_output=True, text=True, timeout=30
    )
    assert done.stdout == "alpha\n", done.stderr


@pytest.mark.parametrize(("shell", "words"), [("zsh", "#compdef homeostat"), ("fish", "complete --no-files")])
def test_other_shells_have_scripts_too(cli: Cli, shell: str, words: str) -> None:
    assert words in cli.here("completion", shell).out
