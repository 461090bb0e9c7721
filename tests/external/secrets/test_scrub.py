"""Credentials in URLs do not come out, whether they are known or not."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from homeostat.external.secrets.scrub import MOST_PARTS, Scrubber, scrub_urls


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fetch https://user:p4ss@host/x failed", "fetch https://***@host/x failed"),
        ("https://t0ken@host", "https://***@host"),
        ("HTTPS://user:p@ss@host/x", "HTTPS://***@host/x"),
        ("amqp://user:p4ss@host/", "amqp://user:***@host/"),
        ("ssh://git@host/x", "ssh://git@host/x"),
        ("https://host/a@b https://u:p@c/", "https://host/a@b https://***@c/"),
        ("https://host?mail=a@b.example", "https://host?mail=a@b.example"),
        ("mail a@b.example", "mail a@b.example"),
    ],
)
def test_a_url_keeps_everything_but_its_credentials(text: str, expected: str) -> None:
    assert scrub_urls(text) == expected


def test_a_scrubber_takes_out_what_it_knows_and_what_urls_show() -> None:
    scrubber = Scrubber()
    scrubber.hide("open-sesame")
    assert scrubber.scrub("open-sesame at ftp://me:unknown@host") == "*** at ftp://me:***@host"


@pytest.mark.parametrize("secret", ['a"b\\c-secret', "two words+more", "üñï-secret??>>", "open-sesame"])
def test_a_secret_is_recognised_in_the_encodings_that_programs_print(secret: str) -> None:
    scrubber = Scrubber()
    scrubber.hide(secret)
    basic = base64.b64encode(f"user:{secret}".encode()).decode()
    printed = [
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret, safe=""),
        quote_plus(secret),
        base64.urlsafe_b64encode(secret.encode()).decode(),
    ]
    assert [scrubber.scrub(each) for each in printed] == ["***"] * len(printed)
    for user in ("", "u", "us", "use"):
        basic = base64.b64encode(f"{user}:{secret}".encode()).decode()
        shown = scrubber.scrub(basic)
        assert "***" in shown
        assert len(shown) <= len(basic) - len(secret)


def test_the_parts_of_a_document_are_few_and_never_push_out_a_secret() -> None:
    scrubber = Scrubber()
    scrubber.hide("open-sesame")
    scrubber.hide_parts(["enabled", "true", "part-of-the-first"])
    assert scrubber.scrub("enabled: true, part-of-the-first") == "enabled: true, ***"
    scrubber.hide_parts([*(f"value-{each:06}" for each in range(2 * MOST_PARTS)), "the-longest-of-all-values"])
    assert scrubber.scrub("part-of-the-first the-longest-of-all-values") == "part-of-the-first ***"
    assert scrubber.scrub("open-sesame") == "***"
    first = scrubber._longest_first
    assert len(first.values) < 20 * MOST_PARTS
    scrubber.hide("open-sesame")
    scrubber.scrub("x")
    assert scrubber._longest_first is first, "sorted once, not for each text"


class _Measured(str):
    """Acts when its length is next read: the point within a sort at which another thread takes over."""

    __slots__ = ("act",)
    act: Callable[[], None] | None

    def __len__(self) -> int:
        act, self.act = getattr(self, "act", None), None
        if act is not None:
            act()
        return super().__len__()


@pytest.mark.parametrize(
    "learn",
    [lambda scrubber: scrubber.hide("new-secret"), lambda scrubber: scrubber.hide_parts(["new-secret"])],
    ids=["a secret", "a part of a document"],
)
def test_a_secret_learnt_while_another_thread_scrubs_is_removed_from_every_later_text(
    learn: Callable[[Scrubber], None],
) -> None:
    scrubber, secret, interrupted = Scrubber(), _Measured("open-sesame"), list[bool]()
    scrubber.hide(secret)

    def interrupt() -> None:
        thread = threading.Thread(target=learn, args=(scrubber,), daemon=True)
        thread.start()
        thread.join(30)
        interrupted.append(not thread.is_alive())

    secret.act = interrupt
    assert scrubber.scrub("open-sesame") == "***"
    assert interrupted == [True], "hiding a secret waits for no sort"
    assert scrubber.scrub("open-sesame new-secret") == "*** ***"


@pytest.mark.timeout(30)
def test_a_text_full_of_dots_takes_time_in_proportion_to_its_length() -> None:
    text = "x://" + "a." * 500_000
    assert scrub_urls(text) == text
    assert scrub_urls(f"{text} amqp://user:pw@host/") == f"{text} amqp://user:***@host/"
