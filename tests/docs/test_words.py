"""The texts that people read use the words of the field, and phrases that were riddles do not come back.

Collected are all texts of the package (log messages, errors, conditions, Events, help, pages) but the docstrings, the
help of the commands, which is their docstring, and the prose of README, docs and decisions. Docstrings and comments
have a shorter list.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import pytest

ROOT: Final = Path(__file__).parents[2]
Forbidden = Mapping[re.Pattern[str], str]
LEVELS: Final = frozenset({"debug", "info", "warning", "error", "exception", "critical"})

# A phrase, and what to say instead.
PHRASES: Final = {
    r"\b(can(not)?|could( not)?|to|not) be had\b": "read, get, fetch, acquire, obtain",
    r"\btrying on\b|\bcomes? again\b": "retrying; will retry in 5 s",
    r"\bstands? for the lead\b": "leader election; became leader",
    r"\bmeans? nothing\b": "invalid",
    r"\b(is|are|was|were|be) looked (at|after)\b|\blooked at once more\b": "reconcile, check",
    r"\ba look at\b|\b[Ll]ooks (at|that)\b|\bhow a look\b": "reconciliation",
    r"\b(cannot|can|could not) be told\b(?! apart)|\b(is|are) told\b|\btelling of\b|\btold of\b": "report, notify",
    r"\bwants? to know\b": "wait for, depend on",
    r"\bbegins? anew\b|\b(opened|read|decide|list|made) anew\b": "restarting; retry; reload",
    r"\b(does|do|did) not fit\b|\bunfit\b|\bmisfits?\b": "does not match the expected schema; unreadable",
    r"\b(is|are|was|were|be) left alone\b|\bleft to others\b|\blets? (it|them) go\b": "stop managing, release",
    r"\bold news\b": "stale, out of date",
    r"\btakes? your leave\b": "allow with --flag",
    r"\bmay they\b|\bits rights\b|\brights of\b": "permissions, allowed to",
    r"\bput(s|ting)? right\b": "apply, patch, fix",
    r"\b(did|does) not (end|answer|hold|say) within\b": "timed out after 10 s",
    r"\bunless told\b": "Default: 300.",
    r"\bdeclared no more\b": "no longer declared",
    r"\bwhat is declared comes in\b": "Connected; receiving declarations",
    r"\bhow (the|a) run stands\b": "run status",
    r"\bwas left elsewhere\b": "artifact",
    r"\bshall be trusted\b": "known hosts are required",
    r"\b(is|are) there already\b": "already exists",
    r"\bhas no place\b": "is not supported",
    r"(?<!there )(?<!There )\bis no (?!longer|such|more than)[a-z]": "is not a",
    r"\b(is|are) to be (a|an|one|true)\b": "must be",
}
# These are riddles in a docstring and in a comment, too.
PHRASES_OF_DOCSTRINGS: Final = {
    r"\banew\b": "again; rewrite, replace",
    r"\bshall\b": "must, should",
    r"(?<!\w, )\b(is|are) to be (?!\w+able\b)\w+": "must be; say who does it",
    r"\b(served|needs? it|leads|counts|changes|exists|works) no more\b": "no longer",
    r"\bwhat (becomes|became) of\b": "the outcome, the result",
    r"\btakes? (most |many )?others down\b": "blast radius",
}
FORBIDDEN_IN_DOCSTRINGS: Final = {re.compile(each): instead for each, instead in PHRASES_OF_DOCSTRINGS.items()}
FORBIDDEN: Final = {re.compile(each): instead for each, instead in PHRASES.items()} | FORBIDDEN_IN_DOCSTRINGS

PACKAGE: Final = sorted((ROOT / "homeostat").rglob("*.py"))
DOCUMENTS: Final = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
_comment = re.compile(r"(?:^|  )# (.*)$", re.MULTILINE)
_code = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def _names(paths: list[Path]) -> list[str]:
    return [each.relative_to(ROOT).as_posix() for each in paths]


def _docstring(node: ast.AST) -> ast.Constant | None:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return None
    match node.body[0]:
        case ast.Expr(value=ast.Constant() as told):
            return told
    return None


def _is_command(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return any("command" in ast.unparse(each) or "group" in ast.unparse(each) for each in node.decorator_list)


@lru_cache(maxsize=1)
def nodes(source: str) -> list[ast.AST]:
    """Parsed and walked once for all that is asked of a file; those of the whole package would fill the memory."""
    return list(ast.walk(ast.parse(source)))


def texts(source: str) -> Iterator[tuple[int, str]]:
    """Lines and texts of what a user may come to read: every string but docstrings, and the help of commands."""
    silent: set[int] = set()
    for node in nodes(source):  # Whatever holds a node comes before it.
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str) and " " in node.value and id(node) not in silent:
                yield node.lineno, node.value
        elif isinstance(node, ast.Expr):
            silent.add(id(node.value))
        elif (told := _docstring(node)) is not None and _is_command(node):
            yield told.lineno, " ".join(str(told.value).split())


def prose(document: str) -> Iterator[tuple[int, str]]:
    """Lines of a document without its code."""
    blank = _code.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), document)
    yield from enumerate(blank.split("\n"), start=1)


def docstrings(source: str) -> Iterator[tuple[int, str]]:
    """Lines and texts of docstrings, also of attributes."""
    for node in nodes(source):
        match node:
            case ast.Expr(value=ast.Constant(value=str() as text)):
                yield node.lineno, " ".join(text.split())


def comments(source: str) -> Iterator[tuple[int, str]]:
    """Lines and texts of comments, found without a tokenizer: a text with `  # ` in it is taken for one."""
    for number, line in enumerate(source.split("\n"), start=1):
        if (found := _comment.search(line)) is not None:
            yield number, found.group(1)


def offences(found: Iterator[tuple[int, str]], forbidden: Forbidden = FORBIDDEN) -> list[str]:
    lines = list(found)
    # No phrase goes over the end of a line, so most are ruled out by one search of everything.
    whole = "\n".join(text for _, text in lines)
    there = {phrase: instead for phrase, instead in forbidden.items() if phrase.search(whole)}
    return [
        f"line {line}: {hit.group()!r}; say: {instead}"
        for line, text in lines
        for phrase, instead in there.items()
        if (hit := phrase.search(text)) is not None
    ]


@dataclass(frozen=True, slots=True)
class Found:
    offences: list[str]
    log_faults: list[str]


@cache
def found_in(name: str) -> Found:
    text = (ROOT / name).read_text()
    if not name.endswith(".py"):
        return Found(offences(prose(text)), [])
    silent = [*docstrings(text), *comments(text)]
    return Found(offences(texts(text)) + offences(iter(silent), FORBIDDEN_IN_DOCSTRINGS), log_faults(text))


def _begins_upper(word: str) -> bool:
    """An acronym or the name of a variable may begin a message."""
    return word[0].isupper() and not word.isupper()


def log_faults(source: str) -> list[str]:
    """A log message is one constant text that begins lower case; what varies is a field beside it."""
    faults = []
    for node in nodes(source):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id="log" | "_log"), attr=level), args=[message, *more]):
                text = message.value if isinstance(message, ast.Constant) else None
                if level not in LEVELS:
                    continue
                if not isinstance(text, str) or more:
                    faults.append(f"line {node.lineno}: the message is not one constant text")
                elif _begins_upper(text.split()[0]):
                    faults.append(f"line {node.lineno}: the message begins upper case")
    return faults


def test_texts_use_the_words_of_the_field() -> None:
    found = {each: found_in(each).offences for each in _names(PACKAGE + DOCUMENTS)}
    assert {name: told for name, told in found.items() if told} == {}


def test_log_messages_are_constant_and_begin_lower_case() -> None:
    found = {name: found_in(name).log_faults for name in _names(PACKAGE)}
    assert {name: told for name, told in found.items() if told} == {}


_RIDDLES = {
    "log": 'log.warning("the lease cannot be had; trying on")',
    "error": 'raise Failure(f"{name} is no operator")',
    "condition": 'Condition(READY, "True", "Connected", "what is declared comes in")',
    "part of a text": 'told = f"{owner} was put right: {error}"',
    "help": '@click.command()\ndef reconcile():\n    """Have resources looked at now: each is looked at once."""',
}


@pytest.mark.parametrize("source", _RIDDLES.values(), ids=_RIDDLES)
def test_a_riddle_is_found(source: str) -> None:
    assert offences(texts(source))


def test_a_riddle_in_prose_is_found_but_not_in_code() -> None:
    assert len(offences(prose("A policy that means nothing.\n\n```text\nit means nothing\n```\n`means nothing`"))) == 1


def test_docstrings_of_other_than_commands_are_for_developers() -> None:
    source = 'def f():\n    """It is looked at."""\n'
    assert not offences(texts(source))
    assert not offences(docstrings(source), FORBIDDEN_IN_DOCSTRINGS)


def test_a_riddle_in_a_comment_is_found() -> None:
    source = 'left = 3  # how many are to be sent\n# begins anew\nurl = "http://a/#anew"\n'
    assert len(offences(comments(source), FORBIDDEN_IN_DOCSTRINGS)) == 2


def test_a_riddle_in_a_docstring_is_found() -> None:
    source = 'class A:\n    left: int\n    """How many are to be sent."""\n'
    assert offences(docstrings(source), FORBIDDEN_IN_DOCSTRINGS)


@pytest.mark.parametrize(
    "call", ['log.info(f"{x} runs")', 'log.info("Runs")', 'log.info("runs %s", x)', "log.error(message)"]
)
def test_a_log_message_that_varies_or_begins_upper_case_is_found(call: str) -> None:
    assert log_faults(call)
