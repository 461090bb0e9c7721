from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from homeostat.cli.main import main
from tests.docs.documents import ROOT, code_in, documents, text_of

_makes = re.compile(r"(?:^|\s)make ([a-z-]+)", re.MULTILINE)
_calls = re.compile(r"(?:^|(?<!from)[\s/(])homeostat ([a-z-].*)", re.MULTILINE)
_fences = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_options = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


def _targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def _command(words: list[str]) -> tuple[click.Command, click.Context]:
    """The command that the words lead to; `LookupError` where they lead nowhere."""
    command: click.Command = main
    context = click.Context(main)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.get_command(context, words[0])
        if found is None:
            raise LookupError(words[0])
        command, context, words = found, click.Context(found, parent=context), words[1:]
    return command, context


def _unknown(call: str) -> Iterator[str]:
    call = call.partition(" #")[0].partition("|")[0]
    try:
        command, context = _command(call.split())
    except LookupError as error:
        yield str(error)
        return
    known = {option for parameter in command.get_params(context) for option in parameter.opts}
    yield from (option for option in _options.findall(call) if option not in known | {"--help", "-h"})


@pytest.mark.parametrize("document", documents(), ids=str)
def test_every_make_target_named_exists(document: Path) -> None:
    named = {target for code in code_in(text_of(document)) for target in _makes.findall(code)}
    assert named <= _targets()


@pytest.mark.parametrize("document", documents(), ids=str)
def test_every_homeostat_command_and_option_named_exists(document: Path) -> None:
    calls = [call for code in code_in(text_of(document)) for call in _calls.findall(code)]
    assert {call: unknown for call in calls if (unknown := list(_unknown(call)))} == {}


def test_the_readme_says_where_the_program_is_before_it_is_typed() -> None:
    typed = [line for fence in _fences.findall(text_of("README.md")) for line in fence.splitlines()]
    first = next(number for number, line in enumerate(typed) if line.startswith("homeostat "))
    assert any(line.startswith("export ") and "PATH=$PWD/.venv/bin:$PATH" in line for line in typed[:first])


def test_the_readme_begins_with_what_starts_a_plane_and_what_tests_it() -> None:
    top = "\n".join(text_of("README.md").splitlines()[:6])
    assert _makes.findall(top) == ["up", "test-fast", "test"]
