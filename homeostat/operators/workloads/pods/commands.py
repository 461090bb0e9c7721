"""How long the containers of a Pod run, with which code they end, and when they have a file, by their commands and
images. Pure.

Nothing is executed: only commands whose end is plain are understood. `sleep 5` ends after 5 s with the code 0, `false`
at once with 1, `sh -c "echo a; sleep 2; exit 3"` after 2 s with 3, `while true; ...`, `tail -f` and servers never. What
a script does that has variables, conditions or other programs is unknown.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Iterator
from functools import lru_cache
from posixpath import normpath
from typing import Final, NamedTuple

import msgspec

from homeostat.operators.workloads.api import Container, PodSpec

MOST_SCRIPT: Final = 4096
"""The most characters of the commands of a Pod that are read."""
_MOST_STEPS: Final = 100
_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash", "zsh"})
_SILENT: Final = frozenset({"echo", "printf", "date", "true", ":", "hostname", "pwd", "set", "export", "cd"})
_ENDLESS: Final = frozenset({"pause", "nginx", "httpd", "netexec", "serve-hostname"})
_SERVERS: Final = frozenset(
    {"pause", "agnhost", "nginx", "httpd", "caddy", "haproxy", "traefik", "envoy", "redis", "valkey", "memcached"}
    | {"postgres", "mysql", "mariadb", "mongo", "rabbitmq", "nats", "etcd", "registry", "vault"}
)
_ENDLESS_LOOP: Final = re.compile(r"(?:while\s+(?:true|:|\[ 1 \])|until\s+false|for\s*\(\(;;\)\))\s*+(?:;\s*+)?do\b")
_UNREADABLE: Final = frozenset("$`<>(){}&|*?[]")
_SEPARATOR: Final = re.compile(r"(&&|;|\n)")
_TEMPORARY: Final = "/tmp"  # noqa: S108  not a folder of ours
_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{0,6})?)([smhd]?)")
_CODE: Final = re.compile(r"[0-9]{1,3}")


class Ending(msgspec.Struct, frozen=True, gc=False):
    code: int
    after_s: float
    """Infinite for a container that does not end by itself."""

    @property
    def is_never(self) -> bool:
        return math.isinf(self.after_s)


NEVER: Final = Ending(0, math.inf)


class Span(NamedTuple):
    """In seconds after the start of a container."""

    from_s: float = 0.0
    until_s: float = math.inf


ALWAYS: Final = Span()


def ending_of(spec: PodSpec) -> Ending | None:
    """When all containers have ended, and the first code that is not 0; None if that of one is unknown."""
    is_short = has_short_commands(spec.containers)
    found = [container_ending(each, is_short=is_short) for each in spec.containers]
    known = [each for each in found if each is not None]
    if any(each.is_never for each in known):
        return NEVER
    if not known or len(known) < len(found):
        return None
    return Ending(next((each.code for each in known if each.code), 0), max(each.after_s for each in known))


def has_short_commands(containers: Iterable[Container]) -> bool:
    return sum(len(word) for each in containers for word in (*each.command, *each.args)) <= MOST_SCRIPT


def container_ending(container: Container, *, is_short: bool) -> Ending | None:
    """None if that is unknown, as it is of commands that are too long to read."""
    words = (*container.command, *container.args)
    image = "" if container.command else image_name(container.image)
    # What follows the name of an image are options, or another program to run instead.
    if image in _SERVERS and (not words or words[0].startswith("-") or image == "agnhost"):
        return NEVER
    return command_ending(words) if words and is_short else None


def image_name(image: str) -> str:
    """The last part of the name, without tag and digest."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


@lru_cache(maxsize=1024)
def command_ending(words: tuple[str, ...]) -> Ending | None:
    """Of at least one word; None if that is unknown."""
    name = words[0].rpartition("/")[2]
    return _shell(words[1:]) if name in _SHELLS else _step(name, words[1:])


def file_span(words: tuple[str, ...], path: str) -> Span:
    """When there is a file in `/tmp` that a script makes and deletes: with `touch /tmp/up; sleep 30; rm /tmp/up` for
    30 s. Always, as far as anybody knows, for files elsewhere and commands that are not understood.
    """
    script = _script_of(words[1:]) if words and words[0].rpartition("/")[2] in _SHELLS else None
    if script is None or not is_below(path, _TEMPORARY):
        return ALWAYS
    wanted, total_s, made_s = normpath(path), 0.0, math.inf
    for text in _SEPARATOR.split(script[0])[: 2 * _MOST_STEPS : 2]:
        step = _file_step(text)
        if step.makes is not None and wanted in step.makes:
            made_s = min(made_s, total_s)
        elif wanted in step.deletes and not math.isinf(made_s):
            return Span(made_s, total_s)
        if (step.makes is None or step.ending is None) and math.isinf(made_s):
            return ALWAYS
        if step.makes is None or step.ending is None or step.ending.is_never or step.is_last:
            break
        total_s += step.ending.after_s
    return Span(made_s)


class _FileStep(NamedTuple):
    makes: tuple[str, ...] | None
    """None where that is not plain: with a path that is not absolute, or what only a shell understands."""
    deletes: tuple[str, ...]
    ending: Ending | None
    is_last: bool


def _file_step(text: str) -> _FileStep:
    command, arrow, target = text.partition(">")
    targets = _words(target.removeprefix(">"))
    name, *words = _words(command) or ("true",)
    name = name.rpartition("/")[2]
    paths = [each for each in words if not each.startswith("-")] if name in ("rm", "touch") else []
    made = [*targets, *(paths if name == "touch" else ())]
    is_plain = _UNREADABLE.isdisjoint(command + target) and (len(targets) == 1 if arrow else True) and name != "cd"
    is_plain = is_plain and all(each.startswith("/") for each in (*made, *paths))
    ending = Ending(0, 0.0) if name in ("rm", "touch") else _step(name, tuple(words))
    return _FileStep(
        tuple(map(normpath, made)) if is_plain else None,
        tuple(map(normpath, paths)) if is_plain and name == "rm" else (),
        ending,
        name in ("exit", "exec"),
    )


def is_below(path: str, folder: str) -> bool:
    return f"{normpath(path)}/".startswith(f"{normpath(folder).rstrip('/')}/")


def _shell(words: tuple[str, ...]) -> Ending | None:
    found = _script_of(words)
    return None if found is None else _script(found[0], ends_on_failure="e" in found[1])


def _script_of(words: tuple[str, ...]) -> tuple[str, str] | None:
    """The script of `-c SCRIPT` and the options; others may come before it, also as `-ec`."""
    options = ""
    for index, word in enumerate(words[:-1]):
        if not word.startswith("-") or word.startswith("--"):
            return None
        options += word
        if word.endswith("c"):
            return words[index + 1], options
    return None


def _script(text: str, *, ends_on_failure: bool) -> Ending | None:
    if endless := _ENDLESS_LOOP.search(text):
        text = f"{text[: endless.start()]}\npause"
    total_s, code, is_and = 0.0, 0, False
    for separator, step in _steps(text):
        is_and = is_and and separator == "&&"
        if is_and:
            # The one before failed, or was left out for that reason.
            continue
        found = None if step is None else _step(step[0].rpartition("/")[2], step[1:], last=code)
        if step is None or found is None:
            return None
        total_s, code = total_s + found.after_s, found.code
        ends_on_failure = ends_on_failure or (step[0] == "set" and any("e" in word for word in step[1:2]))
        if found.is_never or step[0] in ("exit", "exec") or (code and ends_on_failure):
            break
        is_and = bool(code)
    return Ending(code, total_s)


def _steps(text: str) -> Iterator[tuple[str, tuple[str, ...] | None]]:
    """The simple commands of a script, each with what stands before it; None for one that is not understood."""
    separator = ";"
    for count, part in enumerate(_SEPARATOR.split(text)):
        if count % 2:
            separator = part
        elif count > 2 * _MOST_STEPS or not _UNREADABLE.isdisjoint(part):
            yield separator, None
            return
        elif words := _words(part):
            yield separator, words


def _words(text: str) -> tuple[str, ...]:
    """As a shell splits them; one that nobody knows for what cannot be split."""
    try:
        return tuple(shlex.split(text, comments=True))
    except ValueError:
        return (text,)


def _step(name: str, words: tuple[str, ...], *, last: int = 0) -> Ending | None:
    """`last` is the code of the command before it, with which `exit` without a number ends."""
    if name == "exec" and words:
        return command_ending(words)
    if name == "sleep":
        return _sleep(words)
    if name == "false":
        return Ending(1, 0.0)
    if name == "exit":
        given = words[0] if words else str(last)
        return Ending(int(given) % 256, 0.0) if _CODE.fullmatch(given) else None
    if name in _SILENT:
        return Ending(0, 0.0)
    if name == "tail" and any(word in ("-f", "-F", "--follow") for word in words):
        return NEVER
    return NEVER if name in _ENDLESS else None


def _sleep(words: tuple[str, ...]) -> Ending | None:
    total_s = 0.0
    for word in words:
        if word in ("inf", "infinity"):
            return NEVER
        found = _DURATION.fullmatch(word)
        if found is None:
            return None
        total_s += float(found[1]) * _UNITS[found[2]]
    return Ending(0, total_s) if words else None
