from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from homeostat.operators.sync.engine.errors import ValidationError
from homeostat.operators.sync.engine.metadata.step import RESOURCE_FUNCTION, referenced
from homeostat.operators.sync.jq import programs
from homeostat.operators.sync.jq.programs import JqPrograms


@pytest.fixture
async def jq() -> AsyncIterator[JqPrograms]:
    async with JqPrograms() as found:
        yield found


async def test_many_values_go_through_one_program(jq: JqPrograms) -> None:
    assert await jq.run(".a[]", [{"a": [1, 2]}, {"a": []}]) == [[1, 2], []]


async def test_a_program_reads_the_resources_that_it_names(jq: JqPrograms) -> None:
    program = 'resource("/zones/main").ports'
    assert referenced(program) == ["/zones/main"]
    assert await jq.run(program, [None], {"/zones/main": {"ports": [1]}}) == [[[1]]]


@pytest.mark.parametrize("program", ["nonsense(", "error", ".a.b.c", 'resource("/missing")', "input"])
async def test_a_program_that_fails_is_a_validation_error(jq: JqPrograms, program: str) -> None:
    with pytest.raises(ValidationError):
        await jq.run(program, [{"a": 1}])
    assert await jq.run(".", [1]) == [[1]]


SECRET = "pa) ss word"


@pytest.mark.parametrize(
    ("program", "value", "says"),
    [
        (". + 1", SECRET, "string and number cannot be added"),
        ("{a: .} * [.]", SECRET, "object and array cannot be multiplied"),
        ("tonumber", SECRET, "string cannot be parsed as a number"),
        ("fromjson", f'{{"a": "{SECRET}', "a text is not valid JSON"),
        (". as $x | [1] | .[$x]", SECRET, "Cannot index array with string"),
        ('. as $x | error("Cannot index number with \\"\\($x)\\"")', SECRET, "Cannot index a value with a string"),
        ('strptime("%Y")', SECRET, "a date does not match its format"),
        ("test(.; .)", SECRET, "the flags of a regular expression are invalid"),
        ("error", SECRET, "its message is not shown"),
        ("error", {"a": SECRET}, "its message is not shown"),
        ("error", f"jq: error: {SECRET} at <top-level>", "its message is not shown"),
        ('error("no name in " + .)', SECRET, "its message is not shown"),
        ('error("the name is missing")', SECRET, "failed: the name is missing"),
        ('resource("/missing")', SECRET, "failed: resource takes the path"),
        ("nonsense", SECRET, "failed: nonsense/0 is not defined"),
    ],
)
async def test_an_error_says_what_failed_and_shows_no_value(
    jq: JqPrograms, program: str, value: object, says: str
) -> None:
    with pytest.raises(ValidationError) as found:
        await jq.run(program, [value])
    assert says in str(found.value)
    assert not any(part in str(found.value) for part in ("pa)", "ss word", "word"))


async def test_a_program_sees_no_environment(jq: JqPrograms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "s3cret")
    (outputs,) = await jq.run("[env, $ENV]", [None])
    assert "s3cret" not in str(outputs)


@pytest.mark.parametrize("program", ['import "it" as $it {search: "DIR"}; $it', 'include "it" {search: "DIR"}; found'])
async def test_a_program_opens_no_file(
    jq: JqPrograms, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str
) -> None:
    (tmp_path / "it.json").write_text('"s3cret"')
    (tmp_path / "it.jq").write_text('def found: "s3cret";')
    for before in (RESOURCE_FUNCTION, ""):  # after a definition, jq takes no import
        monkeypatch.setattr(programs, "RESOURCE_FUNCTION", before)
        with pytest.raises(ValidationError) as refused:
            await jq.run(program.replace("DIR", str(tmp_path)), [None])
        assert "s3cret" not in str(refused.value)
    assert await jq.run(".", [1]) == [[1]]


async def test_an_endless_program_ends_and_the_next_one_runs(jq: JqPrograms, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "TIMEOUT_S", 1.0)
    with pytest.raises(ValidationError, match="longer than"):
        await jq.run("def f: f; f", [None])
    monkeypatch.setattr(programs, "TIMEOUT_S", 20.0)
    assert await jq.run(".", [2]) == [[2]]


async def test_a_program_that_needs_too_much_memory_harms_only_its_worker(jq: JqPrograms) -> None:
    with pytest.raises(ValidationError):
        await jq.run('"x" * 2000000000 | length', [None])
    assert await jq.run(".", [3]) == [[3]]
