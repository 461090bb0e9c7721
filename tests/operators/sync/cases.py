"""Runs recorded cases of `sync` in process, against the recorded REST server in a process of its own."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml
from click.testing import CliRunner

from homeostat.cli.main import main

GOLDEN: Final = Path(__file__).parent / "golden"
_READS: Final = ("GET", "HEAD", "OPTIONS")
_GIT: Final = {
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.com",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
}
Json = Any


class Rest:
    def __init__(self, url: str) -> None:
        self.url = url

    def call(self, method: str, path: str, value: Json = None) -> Json:
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(self.url + path, body, {"Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if text else None


@contextmanager
def rest_server() -> Iterator[Rest]:
    process = subprocess.Popen([sys.executable, str(GOLDEN / "server.py")], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Rest("http://" + process.stdout.readline().split()[1])
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


class Case:
    """One case in a directory of its own."""

    def __init__(self, case: dict[str, Json], root: Path, rest: Rest) -> None:
        self.case, self.root, self.rest, self.repo = case, root, rest, root / "repo"
        self.words = {"$SERVER": rest.url, "$ROOT": str(root)}

    def fill(self, value: Json) -> Json:
        return _replaced(value, self.words)

    def write(self, base: Path, files: dict[str, Json]) -> None:
        for name, content in files.items():
            path = base / name
            if content is None:
                path.unlink(missing_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(
                base64.b64decode(content["base64"]) if isinstance(content, dict) else self.fill(content).encode()
            )

    def prepare(self) -> None:
        case = self.case
        self.repo.mkdir()
        self.write(self.repo, case.get("files", {}))
        self.write(self.root, case.get("outside", {}))
        for name, target in case.get("links", {}).items():
            (self.repo / name).symlink_to(target)
        kind: Json = {"filesystem": {"baseDir": str(self.repo)}}
        if case.get("git"):
            kind = {"git": {"local": {"baseDir": str(self.repo)}}}
            for words in (
                ("init", "-q", "-b", "main"),
                ("add", "-A"),
                ("commit", "-q", "--allow-empty", "-m", "start"),
            ):
                subprocess.run(["git", *words], cwd=self.repo, env={**os.environ, **_GIT}, check=True)
        auth = {"customHeaders": [{"header": "X-Key", "value": "k1"}]}
        context = {"name": "test", "repository": kind, "managedService": {"http": {"url": "$SERVER", "auth": auth}}}
        catalog = {"contexts": [_deep(context, case.get("context", {}))], "currentContext": "test"}
        (self.root / "contexts.yaml").write_text(json.dumps(self.fill(_deep(catalog, case.get("catalog", {})))))
        self.rest.call("PUT", "/_/state", self.fill(case.get("server", {})))

    def run(self) -> list[str]:
        """What differs from what is expected."""
        self.prepare()
        start = self.tree()
        wrong = list[str]()
        for number, step in enumerate(self.case["steps"], 1):
            at = f"step {number} ({' '.join(step['args'])[:60]})"
            wrong += [f"{at}: {each}" for each in self.step(step)]
        end = self.tree()
        changed = {name: end.get(name) for name in {*start, *end} if start.get(name) != end.get(name)}
        return [*wrong, *self.check_end(changed)]

    def step(self, step: dict[str, Json]) -> list[str]:
        self.write(self.repo, step.get("write", {}))
        for method, path, value in step.get("server", []):
            self.rest.call(method, "/_/objects" + path, value)
        self.rest.call("DELETE", "/_/requests")
        code, out, err = self.invoke(step)
        log = json.loads(self.shown(json.dumps(self.rest.call("GET", "/_/requests")).encode()))
        return [
            *_compare(self.case, step, code, log),
            *_compare_output(self.case, step, self.shown(out), self.shown(err)),
        ]

    def invoke(self, step: dict[str, Json]) -> tuple[int, bytes, bytes]:
        environment: dict[str, str | None] = dict.fromkeys((each for each in os.environ if "DECLAREST" in each), None)
        environment |= {"HOME": str(self.root), "DECLAREST_CONTEXTS_FILE": str(self.root / "contexts.yaml")}
        environment |= self.fill(step.get("env", {}))
        given = step.get("stdin")
        data = base64.b64decode(given["base64"]) if isinstance(given, dict) else self.fill(given or "").encode()
        result = CliRunner().invoke(main, ["sync", *self.fill(step["args"])], input=data, env=environment)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result.exit_code, result.stdout_bytes, result.stderr_bytes

    def shown(self, data: bytes) -> str:
        try:
            return data.decode().replace(self.rest.url, "$SERVER").replace(str(self.root), "$ROOT")
        except UnicodeDecodeError:
            return "base64:" + base64.b64encode(data).decode()

    def tree(self) -> dict[str, str]:
        return {
            str(path.relative_to(self.repo)): self.shown(path.read_bytes())
            for path in self.repo.rglob("*")
            if path.is_file() and ".git" not in path.parts
        }

    def check_end(self, changed: dict[str, str | None]) -> list[str]:
        want, have = self.case["expect"]["objects"], self.rest.call("GET", "/_/state")["objects"]
        wrong = [
            f"server holds {key}: {have.get(key)}"
            for key in {*want, *have}
            if not _same_object(want.get(key), have.get(key))
        ]
        files = self.case["expect"].get("files", {})
        wrong += [
            f"file {name}: {changed.get(name)!r}, not {content!r}"
            for name, content in files.items()
            if not _same(_parsed(content, name), _parsed(changed.get(name), name))
        ]
        wrong += [f"file {name} changed: {changed[name]!r}" for name in changed if name not in files]
        return wrong + [
            f"file {name} shows {word!r}"
            for name, content in changed.items()
            for word in self.case.get("never", [])
            if word in str(content)
        ]


def _replaced(value: Json, words: dict[str, str]) -> Json:
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace(word, text)
        return value
    if isinstance(value, list):
        return [_replaced(each, words) for each in value]
    return {key: _replaced(each, words) for key, each in value.items()} if isinstance(value, dict) else value


def _deep(base: Json, over: Json) -> Json:
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    return {**base, **{k: _deep(base[k], v) if k in base else v for k, v in over.items() if v is not None}}


def _same(a: Json, b: Json) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)


def _parsed(text: Json, kind: str) -> Json:
    if not isinstance(text, str):
        return text
    if "json" in kind:
        return json.loads(text)
    if "yaml" in kind:
        return yaml.safe_load(text)
    if "properties" in kind or "ini" in kind:
        return sorted(
            "=".join(part.strip() for part in each.split("=", 1)) for each in text.splitlines() if each.strip()
        )
    return text.rstrip()


def _same_object(a: Json, b: Json) -> bool:
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys() == {"type", "text"}:
        return _same(_parsed(a["text"], a["type"]), _parsed(b["text"], b["type"]))
    return _same(a, b)


def _matches(want: dict[str, Json], got: dict[str, Json]) -> bool:
    if any(want.get(each) != got.get(each) for each in ("method", "path", "query")):
        return False
    have = {key.lower(): value.split(";")[0].strip() for key, value in got.get("headers", {}).items()}
    a, b = want.get("body"), got.get("body")
    if isinstance(a, dict) and isinstance(b, dict) and a.keys() == b.keys() == {"text"}:
        media = have.get("content-type", "")
        a, b = _parsed(a["text"], media), _parsed(b["text"], media)
    return _same(a, b) and all(have.get(key.lower()) == value for key, value in want.get("headers", {}).items())


def _compare(case: dict[str, Json], step: dict[str, Json], code: int, log: list[dict[str, Json]]) -> list[str]:
    want, wrong = step["expect"], list[str]()
    if code != want["exit"]:
        wrong.append(f"exit {code}, not {want['exit']}")
    token = case.get("server", {}).get("oauth2", {}).get("path")
    sent = [each for each in log if each["method"] not in _READS and each["path"] != token]
    writes, expected = [each for each in sent if each["status"] < 400], list(want.get("writes", []))
    if want.get("quiet") and sent:
        wrong.append(f"sent {sent}, should send nothing")
    if "writes_to" in want:
        if [[each["method"], each["path"]] for each in writes] != want["writes_to"]:
            wrong.append(f"wrote to {writes}")
    elif step.get("order") == "any":
        left = list(writes)
        for each in expected:
            hit = next((one for one in left if _matches(each, one)), None)
            if hit is None:
                wrong.append(f"never wrote {each}")
            else:
                left.remove(hit)
        wrong += [f"wrote {each}" for each in left]
    elif len(writes) != len(expected) or not all(map(_matches, expected, writes)):
        wrong.append(f"wrote {writes}, not {expected}")
    reads = [each for each in log if each["method"] in _READS]
    return wrong + [
        f"never asked {each}" for each in want.get("reads", []) if not any(_matches(each, r) for r in reads)
    ]


def _compare_output(case: dict[str, Json], step: dict[str, Json], out: str, err: str) -> list[str]:
    checks: dict[str, Callable[[Json], bool]] = {
        "json": lambda value: _same(json.loads(out), value),
        "text": lambda value: out.rstrip() == value.rstrip(),
        "base64": lambda value: out == f"base64:{value}",
    }
    wrong = [
        f"printed {out[:300]!r}, not {value!r} ({err[-200:]})"
        for kind, value in step["expect"].get("stdout", {}).items()
        if not checks[kind](value)
    ]
    both = out + err
    wrong += [f"never says {word!r}" for word in step["expect"].get("says", []) if word.lower() not in both.lower()]
    return wrong + [f"shows {word!r}" for word in case.get("never", []) if word in both and not step.get("shows")]
