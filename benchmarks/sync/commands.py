"""What the commands cost on 10,000 resources: wall time, CPU, memory and requests of a first apply, a second one, a
comparison and a plan, in 100 collections of 100 and in one collection of 10,000.

The REST server is that of the recorded cases, in a process of its own on loopback.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from pathlib import Path

_SERVER = Path(__file__).parents[2] / "tests" / "operators" / "sync" / "golden" / "server.py"
_COMMAND = (str(Path(sys.executable).with_name("homeostat")), "sync")
_DRIFTED = 7
HEADINGS = f"{'work':<28}{'wall s':>8}{'CPU s':>8}{'MiB':>6}  requests"


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        write_resources(root / "repo")
        server = subprocess.Popen([sys.executable, str(_SERVER)], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            measure(root, "http://" + server.stdout.readline().split()[1])
        finally:
            server.terminate()
            server.wait()


def write_resources(repo: Path, *, roots: tuple[str, ...] = ("zones", "items")) -> None:
    names = [f"zones/z{zone:03}/items/i{item:02}" for zone in range(100) for item in range(100)]
    names += [f"items/i{item:05}" for item in range(10_000)]
    for place, path in enumerate(names):
        if path.partition("/")[0] not in roots:
            continue
        directory = repo / path
        directory.mkdir(parents=True)
        value = {"id": directory.name, "name": f"item {place}", "level": place, "tags": ["a", "b"], "note": "x" * 20}
        (directory / "resource.json").write_text(json.dumps(value))


def measure(root: Path, url: str) -> None:
    call(url, "PUT", "/_/state", {"collections": {"/zones/*/items": {}, "/items": {}}})
    context = {"name": "b", "repository": {"filesystem": {"baseDir": str(root / "repo")}}}
    catalog = {"currentContext": "b", "contexts": [{**context, "managedService": {"http": {"url": url}}}]}
    (root / "contexts.yaml").write_text(json.dumps(catalog))
    print(HEADINGS)
    for path in ("/zones", "/items"):
        for work, words in (
            ("first apply", ("resource", "apply", path, "-r")),
            ("apply again", ("resource", "apply", path, "-r")),
            ("full comparison", ("resource", "diff", path, "-r", "--list")),
            ("plan of no change", ("plan", path, "-r", "--prune", "-o", "json")),
        ):
            report(f"{work} {path}", root, url, words)
    changed = root / "repo/zones/z005/items/i05/resource.json"
    changed.write_text(json.dumps({"id": "i05", "name": "changed"}))
    report("one changed file", root, url, ("resource", "apply", "/zones/z005/items/i05"))
    call(url, "PUT", "/_/state", {"collections": {"/zones/*/items": {}, "/items": {}}})
    plan = str(root / "plan.json")
    report("plan of 10,000 creations", root, url, ("plan", "/zones", "-r", "--out", plan), code=_DRIFTED)
    report("apply-plan of them", root, url, ("apply-plan", plan))


def report(work: str, root: Path, url: str, words: tuple[str, ...], code: int = 0) -> None:
    call(url, "DELETE", "/_/requests")
    environment = {**os.environ, "DECLAREST_CONTEXTS_FILE": str(root / "contexts.yaml"), "XDG_STATE_HOME": str(root)}
    start = time.perf_counter()
    process = subprocess.Popen(
        [*_COMMAND, *words], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    wall_s = time.perf_counter() - start
    assert os.waitstatus_to_exitcode(status) == code, work
    sent = Counter(each["method"] for each in call(url, "GET", "/_/requests"))
    cpu_s = used.ru_utime + used.ru_stime
    counts = ", ".join(f"{count} {method}" for method, count in sorted(sent.items()))
    print(f"{work:<28}{wall_s:>8.1f}{cpu_s:>8.1f}{used.ru_maxrss / 1024:>6.0f}  {counts}")


def call(url: str, method: str, path: str, value: object = None) -> list[dict[str, str]]:
    body = None if value is None else json.dumps(value).encode()
    with urllib.request.urlopen(urllib.request.Request(url + path, body, method=method), timeout=60) as answer:
        text = answer.read()
    found: list[dict[str, str]] = json.loads(text) if text else []
    return found
