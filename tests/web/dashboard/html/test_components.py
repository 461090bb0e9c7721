"""Texts as one line: short, plain, and without credentials, however long they are."""

from __future__ import annotations

import time
from html import escape

import pytest

from homeostat.web.dashboard.html.components import (
    last_line,
    message_text,
    one_line,
    path_text,
    reason_text,
    seconds,
)

LONG = 240_000
STEPS = "step\n" * 60
OUTPUT = f"{'exit code 3: start ' + 'step ' * 11}"[:70] + "… " + f"{'step ' * 60}error: the quota is used up"[-168:]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (" a\n b ", "a b"),
        ("", ""),
        ("x" * 240, "x" * 240),
        ("x" * 241, f"{'x' * 239}…"),
        ("x" * LONG, f"{'x' * 239}…"),
        ("see https://me:secret@host now", "see https://(hidden)@host now"),
        (f"see https://me:{'secret' * 1000}@host", "see https…"),
        (f"https://a.b https://me:{'secret' * 1000}@host", "https://a.b https…"),
        (" " * LONG, "…"),
        (f"exit code 3: start\n{STEPS}error: the quota is used up", OUTPUT),
    ],
    ids=[
        "spaces",
        "empty",
        "longest",
        "longer",
        "long",
        "credentials",
        "long credentials",
        "second",
        "blank",
        "output",
    ],
)
def test_a_text_is_shown_as_one_short_line(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("exit code 3: begins\nstep 1\nerror: quota exceeded\n", "error: quota exceeded"),
        ("one line", "one line"),
        ("Error\n \u2575\n", "Error"),
        ("", ""),
        (f"begins\nhttps://me:{'secret' * 1000}@host/x", "begins https…"),
        (f"{'a' * 9000}\nsee https://me:secret@host", "see https://(hidden)@host"),
    ],
)
def test_the_last_line_of_an_output_says_why(text: str, line: str) -> None:
    assert last_line(text) == line


@pytest.mark.parametrize("text", ["MinimumReplicasUnavailable", "OK", "OOMKilled", "a-b c", "", "HTTPError4xx", "<B>"])
def test_a_reason_is_shown_whole_with_breaks_between_its_words(text: str) -> None:
    assert reason_text(text).replace("<wbr>", "") == escape(text)
    assert reason_text("ReplicasUnavailable") == "Replicas<wbr>Unavailable"


def test_a_path_is_broken_after_its_slashes() -> None:
    assert path_text("a.b/<c>") == "<code>a.b/<wbr>&lt;c&gt;</code>"


def test_a_long_text_takes_no_longer_than_its_beginning() -> None:
    began = time.thread_time()
    for _ in range(20):
        one_line("a.b.c." * (LONG // 6) + "://x")
    assert time.thread_time() - began < 0.1, "as a whole, each takes 35 ms"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ready", '<span class="why">ready</span>'),
        ("one\ntwo\n", '<span class="why">one\ntwo</span>'),
        ("a" * 500, f'<span class="why">{"a" * 500}</span>'),
    ],
    ids=["short", "lines", "long"],
)
def test_a_message_is_shown_as_a_whole(text: str, shown: str) -> None:
    assert message_text(text) == shown


def test_what_a_program_printed_is_folded_below_its_beginning_and_its_end() -> None:
    shown = str(message_text(f"exit code 3: start\n{STEPS}error: https://me:secret@host is full"))
    assert shown.startswith('<details class="why folded"><summary>exit code 3: start')
    assert "is full</summary><pre" in shown
    assert shown.count("step\n") == 60
    assert "secret" not in shown


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0.0004, "under 1 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.0 s"),
        (59.94, "59.9 s"),
        (59.97, "1 min 0 s"),
        (3599.7, "1 h 0 min"),
    ],
)
def test_a_duration_has_the_unit_that_it_rounds_to(count: float, text: str) -> None:
    assert seconds(count) == text
