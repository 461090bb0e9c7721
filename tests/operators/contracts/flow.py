"""The commands of recorded flows on a tree of files in memory, made of the pure parts alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from hashlib import sha256
from typing import Any

import msgspec

from homeostat.objects.json import encode
from homeostat.objects.versions.constraint import best_tag
from homeostat.operators.contracts.engine.bundle.bundle import Bundle, Unresolved
from homeostat.operators.contracts.engine.diff.compare import Side, compare
from homeostat.operators.contracts.engine.diff.render import render_markdown, render_text
from homeostat.operators.contracts.engine.document.contract import Dependency
from homeostat.operators.contracts.engine.document.parse import ParseError
from homeostat.operators.contracts.engine.files import LOCK_FILE, Files
from homeostat.operators.contracts.engine.graph.graph import Graph, resolve
from homeostat.operators.contracts.engine.graph.render import render_graph
from homeostat.operators.contracts.engine.lock.build import Place, build_lock, normalized
from homeostat.operators.contracts.engine.lock.check import check_lock, keep_pins
from homeostat.operators.contracts.engine.lock.lock import Lock, LockError, UnreadableLockError, print_lock, read_lock
from homeostat.operators.contracts.engine.reference import is_oci, location, parse_parts
from homeostat.operators.contracts.engine.validate import Overrides, load, validate_files
from homeostat.operators.contracts.engine.views.explain import explain_fields, explain_text
from tests.operators.contracts.recorded import files_of
from tests.operators.contracts.visible import visible

TODAY = date(2026, 11, 17)


class Answer(msgspec.Struct):
    exit: int = 0
    stdout: str = ""
    stderr: str = ""
    json: Any = None


class Flow:
    def __init__(self, tree: Mapping[str, str], pushed: Mapping[str, Mapping[str, str]] | None = None) -> None:
        self.tree = files_of(tree)
        self._tags: dict[str, dict[str, Files]] = {}
        self._digests: dict[bytes, str] = {}
        self._counts: dict[str, int] = {}
        for name, files in (pushed or {}).items():
            self.push(name, files)

    def push(self, name: str, files: Mapping[str, str]) -> None:
        repository, _, tag = name.rpartition(":")
        self._tags.setdefault(repository, {})[tag] = files_of(files)

    def run(self, args: list[str]) -> Answer:
        words, flags = _parse(args)
        commands: dict[str, Callable[[list[str], dict[str, list[str]]], Answer]] = {
            "graph": self._graph,
            "lock": self._lock,
            "validate": self._validate,
            "diff": self._diff,
            "explain": self._explain,
        }
        try:
            return commands[words[0]](words[1:], flags)
        except (LockError, ParseError) as error:
            return Answer(1, stderr=str(error))

    def _graph(self, words: list[str], flags: dict[str, list[str]]) -> Answer:
        bundle = self._bundle(words[0], flags.get("--set", []))
        self._verify(words[0], bundle)
        graph = self._resolved(words[0], bundle)[0]
        if flags.get("--output-format") == ["json"]:
            return Answer(json=msgspec.json.decode(encode(graph)))
        return Answer(stdout=render_graph(graph))

    def _explain(self, words: list[str], flags: dict[str, list[str]]) -> Answer:
        contract = self._bundle(words[0]).contract
        if flags.get("--output-format") == ["json"]:
            return Answer(json=explain_fields(contract, TODAY))
        return Answer(stdout=explain_text(contract, TODAY))

    def _validate(self, words: list[str], flags: dict[str, list[str]]) -> Answer:
        path = words[0]
        try:
            self._verify(path, self._bundle(path))
        except LockError as error:
            problem = {"Path": "", "Code": error.code, "Message": str(error)}
            return Answer(1, json={"Path": path, "Valid": False, "Errors": [problem], "Warnings": None})
        findings = validate_files(self._files(path)).findings
        errors = [{"Path": each.path, "Code": each.code, "Message": each.message} for each in findings.errors]
        result = {"Path": path, "Valid": findings.is_valid, "Errors": errors or None, "Warnings": None}
        return Answer(0 if findings.is_valid else 1, json=result)

    def _diff(self, words: list[str], flags: dict[str, list[str]]) -> Answer:
        sides = []
        for path in words:
            bundle = self._bundle(path)
            self._verify(path, bundle)
            graph, fetched = self._resolved(path, bundle)
            sides.append(Side(path, bundle, graph, fetched))
        found = compare(*sides)
        shown = render_markdown if flags.get("--output-format") == ["markdown"] else render_text
        return Answer(1 if found.classification == "BREAKING" else 0, stdout=shown(found))

    def _lock(self, words: list[str], flags: dict[str, list[str]]) -> Answer:
        path = words[0]
        fresh = self._fresh(path, self._bundle(path))
        held = self._held(path)
        if "--check" in flags:
            if not isinstance(held, Lock):
                return Answer(1, stderr="LOCK_MISSING: no pacto.lock found")
            check_lock(held, fresh)
            return Answer(stdout=f"pacto.lock is up to date ({_counted(held)})")
        if isinstance(held, Lock) and "--update" not in flags:
            try:
                check_lock(held, fresh)
            except LockError:
                fresh = keep_pins(held, fresh, flags.get("--update-name", []))
            else:
                return Answer(stdout=f"pacto.lock is up to date ({_counted(held)})")
        self.tree[f"{path}/{LOCK_FILE}"] = print_lock(fresh)
        return Answer(stdout=f"wrote {path}/{LOCK_FILE} ({_counted(fresh)})")

    def _verify(self, path: str, bundle: Bundle) -> None:
        held = self._held(path)
        if isinstance(held, LockError):
            raise held
        if held is not None:
            check_lock(held, self._fresh(path, bundle))

    def _held(self, path: str) -> Lock | LockError | None:
        data = self.tree.get(f"{path}/{LOCK_FILE}")
        try:
            return None if data is None else read_lock(data)
        except UnreadableLockError as error:
            return error

    def _fresh(self, path: str, bundle: Bundle) -> Lock:
        fetched: dict[Place, Bundle | Unresolved] = {}
        while True:
            found = build_lock(bundle.contract, fetched, tool_version="dev")
            if found.lock is not None:
                return found.lock
            for place in found.missing:
                fetched[place] = self._fetch(path, place.path or place.ref, place.constraint)

    def _resolved(self, path: str, bundle: Bundle) -> tuple[Graph, dict[str, Bundle | Unresolved]]:
        fetched: dict[str, Bundle | Unresolved] = {}
        while True:
            found = resolve(bundle.contract, fetched)
            if not found.missing:
                return found.graph, fetched
            fetched |= self._fetch_all(path, found.missing)

    def _fetch_all(self, path: str, wanted: Iterable[Dependency]) -> dict[str, Bundle | Unresolved]:
        return {each.ref: self._fetch(path, each.ref, each.compatibility) for each in wanted}

    def _fetch(self, path: str, ref: str, constraint: str) -> Bundle | Unresolved:
        if not is_oci(ref):
            try:
                return self._bundle(normalized(f"{path}/{location(ref)}"))
            except ParseError as error:
                return Unresolved(str(error))
        parts = parse_parts(location(ref))
        tags = self._tags.get(parts.repository, {})
        tag = parts.tag or best_tag(tags, constraint)
        if tag is None or tag not in tags:
            return Unresolved("not found")
        return Bundle(load(tags[tag]).contract, tags[tag], self._digest(parts.repository, tags[tag]))

    def _digest(self, repository: str, files: Files) -> str:
        """As the recording names digests: by the order in which they appeared in their repository."""
        key = sha256(encode([repository, sorted((path, data.decode()) for path, data in files.items())])).digest()
        if key not in self._digests:
            self._counts[repository] = self._counts.get(repository, 0) + 1
            self._digests[key] = f"digest-of-{repository}-{self._counts[repository]}"
        return self._digests[key]

    def _files(self, path: str) -> dict[str, bytes]:
        lead = f"{path}/"
        return visible({name.removeprefix(lead): data for name, data in self.tree.items() if name.startswith(lead)})

    def _bundle(self, path: str, settings: Iterable[str] = ()) -> Bundle:
        files = self._files(path)
        return Bundle(load(files, Overrides(settings=tuple(settings))).contract, files)


def _counted(lock: Lock) -> str:
    return f"{len(lock.dependencies)} dependencies, {len(lock.references)} references"


def _parse(args: list[str]) -> tuple[list[str], dict[str, list[str]]]:
    words: list[str] = []
    flags: dict[str, list[str]] = {}
    left = iter(args)
    for word in left:
        if not word.startswith("--"):
            words.append(word)
        elif word in ("--check", "--update", "--no-cache"):
            flags[word] = []
        else:
            flags.setdefault(word, []).append(next(left))
    return words, flags
