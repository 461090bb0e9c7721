"""Credentials in URLs do not come out, whether they are known or not."""

from __future__ import annotations

import pytest

from homeostat.external.secrets.scrub import Scrubber, scrub_urls


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
