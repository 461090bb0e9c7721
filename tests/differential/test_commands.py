"""kubectl prints on the plane what it prints on a real kube-apiserver."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cluster.running import Cluster
from tests.differential.commands import COMMANDS, FILES
from tests.differential.conftest import Served
from tests.kubectl.kubectl import Done, Kubectl
from tools.build_kubectl import find_kubectl

pytestmark = pytest.mark.cluster
_VOLATILE = {
    r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}": "UID",
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z": "TIME",
    r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]+ \+0000": "DATE",
    r"kube-api-access-[a-z0-9]{5}": "kube-api-access-ID",
    r"\b\d+(ms|s|m|h|d)(\d+s)?\b": "AGE",
    r"\S+/(?=\w+\.yaml)": "",
    r"  +": "  ",
}
_LINES = COMMANDS.strip().splitlines()


@pytest.fixture(scope="module")
def printed(served: Served, cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Done, Done]]:
    """What both servers' kubectl printed, by command."""
    program = find_kubectl()
    places = [(tmp_path_factory.mktemp("home"), kubeconfig) for kubeconfig in (served.kubeconfig, cluster.kubeconfig)]
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda place: _run(Kubectl(program, *place)), places))
    return list(zip(*found, strict=True))


def _run(kubectl: Kubectl) -> list[Done]:
    for name, text in FILES.items():
        (kubectl.home / name).write_text(text)
    kubectl("create", "namespace", "commands")
    inside = kubectl.within("commands")
    inside("create", "serviceaccount", "default")
    return [inside.run(*_words(line, kubectl.home)) for line in _LINES]


def _words(line: str, home: Path) -> list[str]:
    words = [each.replace("_", " ") if each.startswith("--schedule") else each for each in line.split()]
    return [str(home / each) if each in FILES else each for each in words]


@pytest.mark.parametrize("index", range(len(_LINES)), ids=[each[:40] for each in _LINES])
def test_the_output_is_the_same(index: int, printed: list[tuple[Done, Done]]) -> None:
    mine, theirs = printed[index]
    assert mine.code == theirs.code, (mine, theirs)
    assert _steady(mine.out) == _steady(theirs.out)
    assert _steady(mine.err) == _steady(theirs.err)


def _steady(text: str) -> str:
    for pattern, word in _VOLATILE.items():
        text = re.sub(pattern, word, text)
    return text
